import { DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'

function start() {
  return startExpressServer((app, origin) => {
    const requestHandler = new DefaultRequestHandler(
      sdkCard(origin),
      new InMemoryTaskStore(),
      sdkAgent(),
      undefined,
      new InMemoryPushNotificationStore(),
      undefined,
      sdkCard(origin, { name: 'Ada, extended' }),
    )
    // The extended card is for those who are known.
    const userBuilder = async () => ({ isAuthenticated: true, userName: 'somebody' })
    const options = { requestHandler, userBuilder, legacyCompat: { enabled: true } }
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', jsonRpcHandler(options))
    app.use('/rest', restHandler(options))
  })
}

const ended = 'unsupported-operation'

describe('a server of @a2a-js/sdk 1.3.0 over JSON-RPC', () => {
  sdkServerContract({ start, endpoint: { dialect: 'v1.0', binding: 'JSONRPC' }, canList: true, endedTaskError: ended })
})

describe('a server of @a2a-js/sdk 1.3.0 over REST', () => {
  const options = { bindings: ['HTTP+JSON'] as const }
  sdkServerContract({
    start,
    options,
    endpoint: { dialect: 'v1.0', binding: 'HTTP+JSON' },
    canList: true,
    endedTaskError: ended,
  })
})

describe('a server of @a2a-js/sdk 1.3.0 that also speaks 0.3, over JSON-RPC', () => {
  const options = { dialects: ['v0.3'] as const, bindings: ['JSONRPC'] as const }
  sdkServerContract({ start, options, endpoint: { dialect: 'v0.3', binding: 'JSONRPC' }, endedTaskError: ended })
})

describe('a server of @a2a-js/sdk 1.3.0 that also speaks 0.3, over REST', () => {
  const options = { dialects: ['v0.3-proto'] as const, bindings: ['HTTP+JSON'] as const }
  sdkServerContract({
    start,
    options,
    endpoint: { dialect: 'v0.3-proto', binding: 'HTTP+JSON' },
    endedTaskError: ended,
  })
})
