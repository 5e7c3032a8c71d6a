import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Exchange } from '../http/exchange.ts'
import { type ListenerOptions, toListener } from './listener.ts'

export interface ListenOptions extends ListenerOptions {
  /** 0 takes any free one. */
  readonly port: number
  /** The address to listen on. Only this machine can call unless it is another one, such as `0.0.0.0` for all. */
  readonly host?: string
  /** Milliseconds in which a request must have come in whole. */
  readonly requestTimeout?: number
  /** Milliseconds for which an idle connection stays open. More than the proxy in front grants, or it meets closed ones. */
  readonly keepAliveTimeout?: number
}

export interface Listening {
  readonly url: string
  readonly port: number
  /** Accepts no more, lets running answers finish, and cuts off what is left after `deadline` milliseconds. */
  close(options: { readonly deadline: number }): Promise<void>
}

/** Starts a server of our own. */
export async function listen(
  exchange: Exchange,
  { port, host = '127.0.0.1', requestTimeout = 30_000, keepAliveTimeout = 65_000, ...options }: ListenOptions,
): Promise<Listening> {
  const listener = toListener(exchange, options)
  let closing = false
  const server = createServer(
    {
      requestTimeout,
      headersTimeout: Math.min(requestTimeout, 10_000),
      keepAliveTimeout,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      if (closing) response.setHeader('connection', 'close')
      listener(request, response)
    },
  )
  await bind(server, port, host)
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://${nameOf(host)}:${bound}`,
    port: bound,
    async close({ deadline }) {
      closing = true
      const closed = new Promise((resolve) => server.close(resolve))
      // `close` has ended the idle connections; those whose answers finish from now on are idle later.
      const sweep = setInterval(() => server.closeIdleConnections(), 20)
      const cut = setTimeout(() => server.closeAllConnections(), deadline)
      await closed
      clearInterval(sweep)
      clearTimeout(cut)
    },
  }
}

function bind(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, port, host)))
    server.listen(port, host, resolve)
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
