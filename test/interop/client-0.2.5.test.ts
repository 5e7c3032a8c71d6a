import { A2AExpressApp, DefaultRequestHandler, InMemoryTaskStore } from 'a2a-sdk-0-2/server'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'

function start() {
  return startExpressServer((app, origin) => {
    const { securitySchemes: _, ...card } = legacySdkCard(origin, { protocolVersion: '0.2.5' })
    const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), legacySdkAgent())
    // It has types of an older Express.
    new A2AExpressApp(handler).setupRoutes(app as never)
  })
}

describe('a server of @a2a-js/sdk 0.2.5 over JSON-RPC', () => {
  sdkServerContract({
    start,
    endpoint: { dialect: 'v0.2', binding: 'JSONRPC' },
    canListConfigs: false,
    hasExtendedCard: false,
    endedTaskError: 'task-ended',
  })
})
