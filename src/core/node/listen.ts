import type { RequestListener, Server } from 'node:http'
import type { ServerOptions, Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { defined } from '../base/json.ts'
import type { Exchange } from '../http/exchange.ts'
import type { GrpcExchange } from '../transports/grpc/rpc.ts'
import { http } from './http-module.ts'
import { type ListenerOptions, toStrictListener } from './listener.ts'
import { type Challenge, createRefuser } from './refuse-request.ts'
import { takeUpgrades, type Upgrade } from './websocket-upgrade.ts'

export interface ListenOptions extends ListenerOptions {
  /** 0 takes any free port. */
  readonly port: number
  /** The address to listen on. Defaults to `127.0.0.1`, which only this machine can reach; `0.0.0.0` means all. */
  readonly host?: string
  /** Timeout in milliseconds for receiving a complete request. Defaults to 30,000. */
  readonly requestTimeout?: number
  /**
   * How long an idle connection stays open, in milliseconds. Must be longer than a proxy in front of the server keeps
   * its idle connections. Defaults to 65,000.
   */
  readonly keepAliveTimeout?: number
  /** Serves TLS: the key and certificate of the server, and all other TLS options of Node. */
  readonly tls?: TlsOptions
  /** Requests client certificates issued by `tls.ca`. Callers without a valid one can connect, unless `tls` says otherwise. */
  readonly asksCertificate?: boolean
  /** The number of connections that may be open at once. The server closes further ones immediately. */
  readonly maxConnections?: number
  /** Serves gRPC, and with it HTTP/2, on the same port. */
  readonly grpc?: GrpcExchange
  /** With it, requests whose headers are too long get 401: their caller cannot be identified. Otherwise 431. */
  readonly challenge?: Challenge
  /** Takes over connections that leave HTTP, such as WebSockets. */
  readonly upgrade?: Upgrade | undefined
}

export interface Listening {
  readonly url: string
  readonly port: number
  /** Makes callers leave their connections: still answers every request, as the last one of its connection. */
  drain(): void
  /** Accepts no more requests, lets running ones finish, and cuts off the rest after `deadline` milliseconds. */
  close(options: { readonly deadline: number }): Promise<void>
}

/** A connection is accepted in one pass of the event loop, and read from in a later one. */
const minPasses = 3

/** Serves an exchange on a port. */
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
  let isDraining = false
  const listener = toStrictListener(exchange, { onError, load, unreadTimeout, isDraining: () => isDraining })
  const headersTimeout = Math.min(requestTimeout, 10_000)
  const connectionsCheckingInterval = Math.min(1_000, requestTimeout / 2)
  const timeouts = { requestTimeout, headersTimeout, keepAliveTimeout, connectionsCheckingInterval }
  // The listener checks the Host header, so that the refusal is ours.
  const checks = defined({ requireHostHeader: false, shouldUpgradeCallback: upgrade?.accepts })
  const server: Server | TlsServer = tls
    ? await createTlsServer(
        {
          ...timeouts,
          ...checks,
          handshakeTimeout: headersTimeout,
          ...tls,
          ...(asksCertificate && certificateOptions(tls)),
          ALPNProtocols: grpc ? ['h2', 'http/1.1'] : ['http/1.1'],
        },
        listener,
      )
    : http.createServer({ ...timeouts, ...checks }, listener)
  // The total size of headers is limited. A limit on their number would make Node drop the last ones silently, among
  // them perhaps a second header of the same name.
  server.maxHeadersCount = 0
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  server.on('clientError', createRefuser(challenge))
  if (upgrade) takeUpgrades(server, upgrade)
  // Loaded only when gRPC is enabled.
  const http2 =
    grpc &&
    (await import('./detect-protocol.ts')).shareListener(server, {
      exchange,
      grpc,
      ...timeouts,
      unreadTimeout,
      onError,
      load,
    })
  const connections = trackConnections(server)
  await bind(server, port, host).catch((error) => {
    http2?.close()
    throw error
  })
  // For example, a connection that cannot be accepted because the process has too many open files.
  server.on('error', onError)
  const boundPort = (server.address() as AddressInfo).port

  function drain(): void {
    if (isDraining) return
    isDraining = true
    http2?.drain()
  }

  return {
    url: `${tls ? 'https' : 'http'}://${urlHostOf(host)}:${boundPort}`,
    port: boundPort,
    drain,
    async close({ deadline }) {
      drain()
      await connections.readAll(deadline / 4)
      const closed = new Promise((resolve) => server.close(resolve))
      connections.closeUnused()
      http2?.close()
      // `close` has ended the connections that are idle now. Connections with a running response become idle later.
      const sweep = setInterval(() => server.closeIdleConnections(), 20)
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

/** Loaded only when TLS is enabled. */
async function createTlsServer(options: ServerOptions, listener: RequestListener): Promise<TlsServer> {
  const https = await import('node:https')
  return https.createServer(options, listener)
}

/**
 * By default, the server rejects an untrusted certificate with a response that says why. An operator who sets
 * `rejectUnauthorized` has the connection refused instead, and with it the card.
 */
function certificateOptions({ requestCert = true, rejectUnauthorized = false }: TlsOptions): TlsOptions {
  return { requestCert, rejectUnauthorized }
}

/** The open connections of a server. */
function trackConnections(server: Server | TlsServer) {
  const sockets = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket) => {
    accepted++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    /**
     * Resolves when every byte that has arrived is read: closing a connection with unread bytes resets it, and its caller cannot
     * know whether its request was processed. Each pass of the event loop accepts connections and reads what they have sent.
     * A busy server never has read all, so there is a deadline, in milliseconds.
     */
    async readAll(deadline: number): Promise<void> {
      const end = performance.now() + deadline
      for (let pass = 1, before = -1; performance.now() < end; pass++) {
        const bytes = [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, accepted)
        if (bytes === before && pass > minPasses) return
        before = bytes
        await new Promise(setImmediate)
      }
    },
    /** Node does not count connections without a single byte as idle. Browsers and load balancers keep such a reserve. */
    closeUnused() {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    },
  }
}

function bind(server: Server | TlsServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(bindError(error, port, host))
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      resolve()
    })
  })
}

function bindError(error: NodeJS.ErrnoException, port: number, host: string): Error {
  const hints: Readonly<Record<string, string>> = {
    EADDRINUSE: 'is in use: stop the program that uses it, or choose another port (0 takes any free one)',
    EACCES: 'is not ours to open: ports below 1024 are reserved, choose a higher one',
    EADDRNOTAVAIL: 'cannot be opened: this machine does not have that address, choose another host',
  }
  const hint = hints[error.code ?? ''] ?? 'cannot be opened'
  return new Error(`Port ${port} on ${host} ${hint}`, { cause: error })
}

/** The host in the URL by which a caller on this machine reaches the server. */
function urlHostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
