import type { IncomingMessage } from 'node:http'
import { onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import type { JsonObject } from '../../../src/core/base/json.ts'
import { toListener } from '../../../src/core/node/listener.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import { silentLogger } from '../logger.ts'
import { startHttpServer } from './http-server.ts'

export interface AuthenticatingAgentOptions {
  /** Card members that declare the required credentials. */
  readonly card?: (origin: string) => JsonObject
  readonly accepts: (request: IncomingMessage, url: URL) => boolean
  readonly challenge?: string
  /** Whether the card needs credentials as well. */
  readonly isCardProtected?: boolean
  readonly binding?: 'JSONRPC' | 'HTTP+JSON'
  readonly run?: AgentFunction
}

export interface AuthenticatingAgent {
  readonly origin: string
  /** One line per request except for the card: `POST / 401`. */
  readonly requestLines: readonly string[]
}

/** A real agent that answers requests with 401 unless `accepts` returns true. */
export async function startAuthenticatingAgent({
  binding = 'JSONRPC',
  run = welcome,
  ...options
}: AuthenticatingAgentOptions): Promise<AuthenticatingAgent> {
  const requestLines: string[] = []
  const handler = createHandler(agent({ name: 'Authenticating' }, run), {
    auth: 'none',
    logger: silentLogger,
    turns: { cancelGrace: 50 },
  })
  onTestFinished(() => handler.drain(0))
  const listener = toListener(handler.exchange, { onError: () => {} })
  const origin = await startHttpServer((request, response) => {
    const url = new URL(request.url ?? '', origin)
    const isCard = url.pathname.startsWith('/.well-known/')
    const isAccepted = (isCard && !options.isCardProtected) || options.accepts(request, url)
    if (!isCard) requestLines.push(`${request.method} ${url.pathname} ${isAccepted ? 200 : 401}`)
    if (!isAccepted) {
      response.writeHead(401, { 'www-authenticate': options.challenge ?? 'Bearer realm="agents"' }).end('{}')
    } else if (isCard) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(cardAt(origin)))
    } else {
      listener(request, response)
    }
  })

  function cardAt(at: string): JsonObject {
    const supportedInterfaces = [{ url: at, protocolBinding: binding, protocolVersion: '1.0' }]
    return { name: 'Authenticating', supportedInterfaces, capabilities: { streaming: true }, ...options.card?.(at) }
  }

  return { origin, requestLines }
}

async function welcome(): Promise<string> {
  return 'Welcome'
}
