import { DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler } from '@a2a-js/sdk/server/express'
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc'
import { describe } from 'vitest'
import { foreignServerContract } from '../contracts/foreign-server.ts'
import { expressServer } from '../support/express-server.ts'
import { breakingGrpc, grpcTransport } from '../support/grpc-transport.ts'
import { protoAgent, protoCard } from '../support/proto-agent.ts'
import { sdkGrpcServer } from '../support/sdk-grpc-server.ts'

async function start(): Promise<string> {
  let requestHandler: DefaultRequestHandler | undefined
  await sdkGrpcServer(A2AService, (address) => {
    const supportedInterfaces = [{ url: address, protocolBinding: 'GRPC', protocolVersion: '1.0' }]
    requestHandler = new DefaultRequestHandler(
      protoCard('', { supportedInterfaces }),
      new InMemoryTaskStore(),
      protoAgent(),
      undefined,
      new InMemoryPushNotificationStore(),
      undefined,
      protoCard('', { supportedInterfaces, name: 'Ada, extended' }),
    )
    const userBuilder = async () => ({ isAuthenticated: true, userName: 'somebody' })
    return grpcService({ requestHandler, userBuilder })
  })
  return await expressServer((app) => {
    if (requestHandler) app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  })
}

describe('a server of @a2a-js/sdk 1.3.0 over gRPC', () => {
  foreignServerContract({
    start,
    options: () => ({ bindings: [grpcTransport()] }),
    breaking: breakingGrpc,
    door: { dialect: 'v1.0', binding: 'GRPC' },
    canList: true,
    ended: 'unsupported-operation',
  })
})
