import { DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from 'a2a-sdk-0-3-last/server'
import { agentCardHandler } from 'a2a-sdk-0-3-last/server/express'
import { A2AService, grpcService } from 'a2a-sdk-0-3-last/server/grpc'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { breakingGrpc, grpcTransport } from '../support/grpc/grpc-transport.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { startSdkGrpcServer } from '../support/sdk/grpc-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'

async function start(): Promise<string> {
  let requestHandler: DefaultRequestHandler | undefined
  await startSdkGrpcServer(A2AService, (address) => {
    const more = { url: address, preferredTransport: 'GRPC', supportsAuthenticatedExtendedCard: true }
    requestHandler = new DefaultRequestHandler(
      legacySdkCard('', more),
      new InMemoryTaskStore(),
      legacySdkAgent(),
      undefined,
      new InMemoryPushNotificationStore(),
      undefined,
      legacySdkCard('', { ...more, name: 'Ada, extended' }),
    )
    const userBuilder = async () => ({ isAuthenticated: true, userName: 'somebody' })
    return grpcService({ requestHandler, userBuilder })
  })
  return await startExpressServer((app) => {
    if (requestHandler) app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  })
}

describe('a server of @a2a-js/sdk 0.3.14 over gRPC', () => {
  sdkServerContract({
    start,
    options: () => ({ bindings: [grpcTransport()] }),
    withBrokenStreams: breakingGrpc,
    endpoint: { dialect: 'v0.3-proto', binding: 'GRPC' },
    endedTaskError: 'task-ended',
  })
})
