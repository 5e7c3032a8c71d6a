import { DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler } from '@a2a-js/sdk/server/express'
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { breakingGrpc, grpcTransport } from '../support/grpc/grpc-transport.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { startSdkGrpcServer } from '../support/sdk/grpc-server.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'

async function start(): Promise<string> {
  let requestHandler: DefaultRequestHandler | undefined
  await startSdkGrpcServer(A2AService, (address) => {
    const supportedInterfaces = [{ url: address, protocolBinding: 'GRPC', protocolVersion: '1.0' }]
    requestHandler = new DefaultRequestHandler(
      sdkCard('', { supportedInterfaces }),
      new InMemoryTaskStore(),
      sdkAgent(),
      undefined,
      new InMemoryPushNotificationStore(),
      undefined,
      sdkCard('', { supportedInterfaces, name: 'Ada, extended' }),
    )
    const userBuilder = async () => ({ isAuthenticated: true, userName: 'somebody' })
    return grpcService({ requestHandler, userBuilder })
  })
  return await startExpressServer((app) => {
    if (requestHandler) app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  })
}

describe('a server of @a2a-js/sdk 1.3.0 over gRPC', () => {
  sdkServerContract({
    start,
    options: () => ({ bindings: [grpcTransport()] }),
    withBrokenStreams: breakingGrpc,
    endpoint: { dialect: 'v1.0', binding: 'GRPC' },
    canList: true,
    endedTaskError: 'unsupported-operation',
  })
})
