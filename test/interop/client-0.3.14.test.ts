import { DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from 'a2a-sdk-0-3-last/server'
import { agentCardHandler, jsonRpcHandler, restHandler } from 'a2a-sdk-0-3-last/server/express'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'

function start() {
  return startExpressServer((app, origin) => {
    const more = {
      url: `${origin}/rpc`,
      additionalInterfaces: [{ url: `${origin}/rest`, transport: 'HTTP+JSON' }],
      supportsAuthenticatedExtendedCard: true,
    }
    const requestHandler = new DefaultRequestHandler(
      legacySdkCard(origin, more),
      new InMemoryTaskStore(),
      legacySdkAgent(),
      undefined,
      new InMemoryPushNotificationStore(),
      undefined,
      legacySdkCard(origin, { ...more, name: 'Ada, extended' }),
    )
    const options = { requestHandler, userBuilder: async () => ({ isAuthenticated: true, userName: 'somebody' }) }
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', jsonRpcHandler(options))
    app.use('/rest', restHandler(options))
  })
}

const ended = 'task-ended'

describe('a server of @a2a-js/sdk 0.3.14 over JSON-RPC', () => {
  sdkServerContract({ start, endpoint: { dialect: 'v0.3', binding: 'JSONRPC' }, endedTaskError: ended })
})

describe('a server of @a2a-js/sdk 0.3.14 over REST', () => {
  const options = { bindings: ['HTTP+JSON'] as const }
  sdkServerContract({
    start,
    options,
    endpoint: { dialect: 'v0.3-proto', binding: 'HTTP+JSON' },
    endedTaskError: ended,
  })
})
