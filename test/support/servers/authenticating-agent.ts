import type { IncomingMessage } from 'node:http'
import { onTestFinished } from 'vitest'
import { type AgentFunction, agent } from '../../../src/agent/agent.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import { toListener } from '../../../src/node/listener.ts'
import { createHandler } from '../../../src/server/handler.ts'
import { silentLogger } from '../logger.ts'
import { startHttpServer } from './http-server.ts'

export interface AuthenticatingAgentOptions {
  /** Members of the card that say what callers need. */
  readonly card?: (origin: string) => JsonObject
  readonly admits: (request: IncomingMessage, url: URL) => boolean
  readonly challenge?: string
  /** Whether the card is behind the gate, too. */
  readonly isCardGated?: boolean
  readonly binding?: 'JSONRPC' | 'HTTP+JSON'
  readonly run?: AgentFunction
}

export interface AuthenticatingAgent {
  readonly origin: string
  /** What was asked beside the card, and how it was answered: `POST / 401`. */
  readonly asked: readonly string[]
}

/** A real agent behind a gate that lets in whom it likes. Who is not let in gets 401. */
export async function startAuthenticatingAgent({
  binding = 'JSONRPC',
  run = say,
  ...gate
}: AuthenticatingAgentOptions): Promise<AuthenticatingAgent> {
  const asked: string[] = []
  const handler = createHandler(agent({ name: 'Gated' }, run), {
    auth: 'none',
    logger: silentLogger,
    turns: { cancelGrace: 50 },
  })
  onTestFinished(() => handler.drain(0))
  const listener = toListener(handler.exchange, { onError: () => {} })
  const origin = await startHttpServer((request, response) => {
    const url = new URL(request.url ?? '', origin)
    const isCard = url.pathname.startsWith('/.well-known/')
    const isAdmitted = (isCard && !gate.isCardGated) || gate.admits(request, url)
    if (!isCard) asked.push(`${request.method} ${url.pathname} ${isAdmitted ? 200 : 401}`)
    if (!isAdmitted) {
      response.writeHead(401, { 'www-authenticate': gate.challenge ?? 'Bearer realm="agents"' }).end('{}')
    } else if (isCard) {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(cardAt(origin)))
    } else {
      listener(request, response)
    }
  })

  function cardAt(at: string): JsonObject {
    const supportedInterfaces = [{ url: at, protocolBinding: binding, protocolVersion: '1.0' }]
    return { name: 'Gated', supportedInterfaces, capabilities: { streaming: true }, ...gate.card?.(at) }
  }

  return { origin, asked }
}

async function say(): Promise<string> {
  return 'Welcome'
}
