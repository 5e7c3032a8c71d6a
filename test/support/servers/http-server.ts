import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Server as NetServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** Starts a plain Node server on loopback and returns its origin. Closed after the test. */
export async function startHttpServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  onTestFinished(() => closeAll(server))
  return `http://127.0.0.1:${await listenOnFreePort(server)}`
}

/** Starts listening on a free port and returns it. */
export async function listenOnFreePort(server: NetServer): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A port on which nothing listens. */
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
  /** Handles every request except the one for the card. */
  readonly answer?: RequestListener
}

/** A peer with any card and any responses. */
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
    name: 'Scripted',
    supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    ...more,
  }
}

/** Gives every request the same response. */
export function respondWith(
  status: number,
  body: string | object,
  headers: Record<string, string> = {},
): RequestListener {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? {} : { 'content-type': 'application/json' }
  return (_, response) => void response.writeHead(status, { ...type, ...headers }).end(text)
}

/** Answers every call with this JSON-RPC error. */
export function respondWithRpcError(error: object): RequestListener {
  return respondWith(200, { jsonrpc: '2.0', id: 1, error })
}
