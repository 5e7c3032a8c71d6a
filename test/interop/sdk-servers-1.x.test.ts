import * as server1_3 from '@a2a-js/sdk/server'
import * as express1_3 from '@a2a-js/sdk/server/express'
import * as grpc1_3 from '@a2a-js/sdk/server/grpc'
import * as server1_0 from 'a2a-sdk-1-0/server'
import * as express1_0 from 'a2a-sdk-1-0/server/express'
import * as grpc1_0 from 'a2a-sdk-1-0/server/grpc'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { breakingGrpc, grpcTransport } from '../support/grpc/grpc-transport.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { startSdkGrpcServer } from '../support/sdk/grpc-server.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'

type ServerModule = typeof server1_3 & typeof express1_3 & typeof grpc1_3
type RequestHandler = InstanceType<ServerModule['DefaultRequestHandler']>

/** The versions differ in their types, but not in the part that is used here. */
const versions = [
  {
    version: '1.0.1',
    sdk: { ...server1_0, ...express1_0, ...grpc1_0 } as unknown as ServerModule,
    // This version reports every error as an internal one, and lists tasks only by state.
    traits: { endedTaskError: 'task-ended' },
    handlerOptions: {},
  },
  {
    version: '1.3.0',
    sdk: { ...server1_3, ...express1_3, ...grpc1_3 },
    traits: { canList: true, endedTaskError: 'unsupported-operation' },
    handlerOptions: { legacyCompat: { enabled: true } },
  },
] as const

/** The extended card requires an authenticated user. */
const userBuilder = async () => ({ isAuthenticated: true, userName: 'alice' })

function createRequestHandler(sdk: ServerModule, origin: string, card: object = {}): RequestHandler {
  return new sdk.DefaultRequestHandler(
    sdkCard(origin, card),
    new sdk.InMemoryTaskStore(),
    sdkAgent(),
    undefined,
    new sdk.InMemoryPushNotificationStore(),
    undefined,
    sdkCard(origin, { ...card, name: 'Ada, extended' }),
  )
}

function startHttp(sdk: ServerModule, handlerOptions: object): Promise<string> {
  return startExpressServer((app, origin) => {
    const requestHandler = createRequestHandler(sdk, origin)
    const options = { requestHandler, userBuilder, ...handlerOptions }
    app.use('/.well-known/agent-card.json', sdk.agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', sdk.jsonRpcHandler(options))
    app.use('/rest', sdk.restHandler(options))
  })
}

async function startGrpc(sdk: ServerModule): Promise<string> {
  let requestHandler: RequestHandler | undefined
  await startSdkGrpcServer(sdk.A2AService, (address) => {
    const supportedInterfaces = [{ url: address, protocolBinding: 'GRPC', protocolVersion: '1.0' }]
    requestHandler = createRequestHandler(sdk, '', { supportedInterfaces })
    return sdk.grpcService({ requestHandler, userBuilder })
  })
  return await startExpressServer((app) => {
    if (!requestHandler) return
    app.use('/.well-known/agent-card.json', sdk.agentCardHandler({ agentCardProvider: requestHandler }))
  })
}

describe.each(versions)('a server of @a2a-js/sdk $version over JSON-RPC', ({ sdk, traits, handlerOptions }) => {
  const start = () => startHttp(sdk, handlerOptions)
  sdkServerContract({ start, endpoint: { dialect: 'v1.0', binding: 'JSONRPC' }, ...traits })
})

describe.each(versions)('a server of @a2a-js/sdk $version over REST', ({ sdk, traits, handlerOptions }) => {
  const start = () => startHttp(sdk, handlerOptions)
  const options = { bindings: ['HTTP+JSON'] as const }
  sdkServerContract({ start, options, endpoint: { dialect: 'v1.0', binding: 'HTTP+JSON' }, ...traits })
})

describe.each(versions)('a server of @a2a-js/sdk $version over gRPC', ({ sdk, traits }) => {
  sdkServerContract({
    start: () => startGrpc(sdk),
    options: () => ({ bindings: [grpcTransport()] }),
    withBrokenStreams: breakingGrpc,
    endpoint: { dialect: 'v1.0', binding: 'GRPC' },
    ...traits,
  })
})

describe.each([
  ['JSON-RPC', 'v0.3', 'JSONRPC'],
  ['REST', 'v0.3-proto', 'HTTP+JSON'],
] as const)('a server of @a2a-js/sdk 1.3.0 with 0.3 enabled, over %s', (_, dialect, binding) => {
  const { sdk, traits, handlerOptions } = versions[1]
  sdkServerContract({
    start: () => startHttp(sdk, handlerOptions),
    options: { dialects: [dialect], bindings: [binding] },
    endpoint: { dialect, binding },
    endedTaskError: traits.endedTaskError,
  })
})
