import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Server as NetServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server of Node's own on a port of this machine, gone after the test; gives its origin. */
export async function startHttpServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  onTestFinished(() => closeAll(server))
  return `http://127.0.0.1:${await listenOnFreePort(server)}`
}

/** The port on which it listens now. */
export async function listenOnFreePort(server: NetServer): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A port on which nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await listenOnFreePort(server)
  server.close()
  await once(server, 'close')
  return port
}

function closeAll(server: Server): void {
  server.closeAllConnections()
  server.close()
}

export interface PeerRoutes {
  readonly card?: (origin: string) => object
  /** Everything but the card. */
  readonly answer?: RequestListener
}

/** An agent that says of itself what it likes, and answers as it likes. */
export async function startScriptedPeer({ card = rpcCard, answer }: PeerRoutes): Promise<string> {
  const origin = await startHttpServer((request, response) => {
    if (request.url?.startsWith('/.well-known/agent-card.json')) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(card(origin)))
    } else if (answer) {
      answer(request, response)
    } else {
      response.writeHead(404).end()
    }
  })
  return origin
}

export function rpcCard(origin: string, more: object = {}): object {
  return {
    name: 'Strange',
    supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    ...more,
  }
}

/** Answers everything alike. */
export function respondWith(
  status: number,
  body: string | object,
  headers: Record<string, string> = {},
): RequestListener {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? {} : { 'content-type': 'application/json' }
  return (_, response) => void response.writeHead(status, { ...type, ...headers }).end(text)
}

/** Answers every call with this error of JSON-RPC. */
export function respondWithRpcError(error: object): RequestListener {
  return respondWith(200, { jsonrpc: '2.0', id: 1, error })
}
