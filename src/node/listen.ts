import { createServer, type RequestListener, type Server } from 'node:http'
import type { ServerOptions, Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import type { Exchange } from '../http/exchange.ts'
import type { GrpcExchange } from '../transports/grpc/rpc.ts'
import { type ListenerOptions, sendText, toListener } from './listener.ts'
import { ambiguityIn, type Challenge, createRefuser, refusalOf } from './refuse-request.ts'
import type { Upgrade } from './websocket-upgrade.ts'

export interface ListenOptions extends ListenerOptions {
  /** 0 takes any free one. */
  readonly port: number
  /** The address to listen on. Only this machine can call unless it is another one, such as `0.0.0.0` for all. */
  readonly host?: string
  /** Milliseconds in which a request must have come in whole. */
  readonly requestTimeout?: number
  /** Milliseconds for which an idle connection stays open: longer than a proxy in front of us expects it to. */
  readonly keepAliveTimeout?: number
  /** Speaks TLS: the key and the certificate of this server, and everything else that Node's TLS has. */
  readonly tls?: TlsOptions
  /** Asks callers for a certificate, which `tls.ca` must vouch for. Who has none, or another, can still connect. */
  readonly asksCertificate?: boolean
  /** Connections that may be open at once; more are closed at once. */
  readonly maxConnections?: number
  /** Answers gRPC at the same port. With it HTTP/2 is spoken, too. */
  readonly grpc?: GrpcExchange
  /** Given, requests whose headers do not fit get 401 with it: who they are from cannot be known. Otherwise 431. */
  readonly challenge?: Challenge
  /** Takes connections that are to become something else than HTTP. */
  readonly upgrade?: Upgrade | undefined
}

export interface Listening {
  readonly url: string
  readonly port: number
  /** Accepts no more, lets running answers finish, and cuts off what is left `deadline` milliseconds after `drained`. */
  close(options: { readonly deadline: number; readonly drained?: Promise<unknown> }): Promise<void>
}

/** Starts a server of our own. */
export async function listen(exchange: Exchange, options: ListenOptions): Promise<Listening> {
  const { port, host = '127.0.0.1', requestTimeout = 30_000, keepAliveTimeout = 65_000, load, maxConnections } = options
  const {
    tls,
    asksCertificate = false,
    grpc,
    upgrade,
    challenge,
    onError = console.error,
    unreadTimeout = keepAliveTimeout,
  } = options
  const listener = toListener(exchange, { onError, load, unreadTimeout })
  const refuse = createRefuser(challenge)
  const headersTimeout = Math.min(requestTimeout, 10_000)
  const connectionsCheckingInterval = Math.min(1_000, requestTimeout / 2)
  const timeouts = { requestTimeout, headersTimeout, keepAliveTimeout, connectionsCheckingInterval }
  // Checked here, so that the refusal is one of ours.
  const checks = { requireHostHeader: false, ...(upgrade && { shouldUpgradeCallback: upgrade.wants }) }
  let closing = false
  const onRequest: RequestListener = (request, response) => {
    const fault = ambiguityIn(request)
    if (closing || fault) response.setHeader('connection', 'close')
    if (!fault) return listener(request, response)
    const refusal = refusalOf(fault)
    void sendText(response, refusal, refusal.body)
  }
  const server: Server | TlsServer = tls
    ? await createTlsServer(
        {
          ...{ ...timeouts, ...checks, handshakeTimeout: headersTimeout, ...tls },
          ...{ ...certificates(asksCertificate), ALPNProtocols: protocols(grpc) },
        },
        onRequest,
      )
    : createServer({ ...timeouts, ...checks }, onRequest)
  // Their size is bounded. Of more than so many Node would leave out the last, among which could be a second of a kind.
  server.maxHeadersCount = 0
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  server.on('clientError', refuse)
  if (upgrade) server.on('upgrade', upgrade.take)
  // Loaded when it is needed: those who speak HTTP/1.1 only do not pay for it.
  const http2 =
    grpc &&
    (await import('./detect-protocol.ts')).shareListener(server, {
      ...{ exchange, grpc, ...timeouts, unreadTimeout, onError, load },
    })
  const closeUnused = trackUnused(server)
  await bind(server, port, host).catch((error) => {
    http2?.close()
    throw error
  })
  // Such as a connection that cannot be accepted because the process has too many files open.
  server.on('error', onError)
  const bound = (server.address() as AddressInfo).port
  return {
    url: `${tls ? 'https' : 'http'}://${nameOf(host)}:${bound}`,
    port: bound,
    async close({ deadline, drained }) {
      closing = true
      const closed = new Promise((resolve) => server.close(resolve))
      closeUnused()
      http2?.close()
      // `close` has ended the connections that are idle now; those whose answers are still running get idle later.
      const sweep = setInterval(() => server.closeIdleConnections(), 20)
      await Promise.allSettled([drained])
      const cut = setTimeout(() => {
        server.closeAllConnections()
        http2?.destroy()
      }, deadline)
      await closed
      clearInterval(sweep)
      clearTimeout(cut)
    },
  }
}

/** Loaded when it is needed. */
async function createTlsServer(options: ServerOptions, onRequest: RequestListener): Promise<TlsServer> {
  const https = await import('node:https')
  return https.createServer(options, onRequest)
}

/** An untrusted certificate is refused by an answer that says so, and not by the connection, which cannot. */
function certificates(asks: boolean): TlsOptions {
  return asks ? { requestCert: true, rejectUnauthorized: false } : {}
}

function protocols(grpc: GrpcExchange | undefined): string[] {
  return grpc ? ['h2', 'http/1.1'] : ['http/1.1']
}

/** Node does not count connections as idle that never sent a byte, as browsers and balancers keep them in reserve. */
function trackUnused(server: Server | TlsServer): () => void {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return () => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }
}

function bind(server: Server | TlsServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(explain(error, port, host))
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      resolve()
    })
  })
}

function explain(error: NodeJS.ErrnoException, port: number, host: string): Error {
  const hints: Readonly<Record<string, string>> = {
    EADDRINUSE: 'is in use: stop the program that uses it, or choose another port (0 takes any free one)',
    EACCES: 'is not ours to open: ports below 1024 are reserved, choose a higher one',
    EADDRNOTAVAIL: 'cannot be opened: this machine does not have that address, choose another host',
  }
  const hint = hints[error.code ?? ''] ?? 'cannot be opened'
  return new Error(`Port ${port} on ${host} ${hint}`, { cause: error })
}

/** How a caller on this machine writes the host in a URL. */
function nameOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
