import {
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from 'a2a-sdk-1-0/server'
import { agentCardHandler, jsonRpcHandler, restHandler } from 'a2a-sdk-1-0/server/express'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'

function start() {
  return startExpressServer((app, origin) => {
    const requestHandler = new DefaultRequestHandler(
      sdkCard(origin),
      new InMemoryTaskStore(),
      // The events are the same; 1.3.0 only has more around them.
      sdkAgent() as unknown as AgentExecutor,
      undefined,
      new InMemoryPushNotificationStore(),
      undefined,
      sdkCard(origin, { name: 'Ada, extended' }),
    )
    // The extended card is for those who are known.
    const userBuilder = async () => ({ isAuthenticated: true, userName: 'somebody' })
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
    app.use('/rest', restHandler({ requestHandler, userBuilder }))
  })
}

// It tells every error as an internal one, and lists nothing unless a state is asked for.
const ended = 'task-ended'

describe('a server of @a2a-js/sdk 1.0.1 over JSON-RPC', () => {
  sdkServerContract({ start, endpoint: { dialect: 'v1.0', binding: 'JSONRPC' }, endedTaskError: ended })
})

describe('a server of @a2a-js/sdk 1.0.1 over REST', () => {
  const options = { bindings: ['HTTP+JSON'] as const }
  sdkServerContract({ start, options, endpoint: { dialect: 'v1.0', binding: 'HTTP+JSON' }, endedTaskError: ended })
})
