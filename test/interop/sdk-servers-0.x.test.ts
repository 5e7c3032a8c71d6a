import {
  A2AExpressApp,
  DefaultRequestHandler as Handler0_2,
  InMemoryTaskStore as TaskStore0_2,
} from 'a2a-sdk-0-2/server'
import {
  DefaultRequestHandler as Handler0_3_0,
  JsonRpcTransportHandler,
  InMemoryTaskStore as TaskStore0_3_0,
} from 'a2a-sdk-0-3-first/server'
import * as server0_3_14 from 'a2a-sdk-0-3-last/server'
import * as express0_3_14 from 'a2a-sdk-0-3-last/server/express'
import { A2AService, grpcService } from 'a2a-sdk-0-3-last/server/grpc'
import * as server0_3_7 from 'a2a-sdk-0-3-rest/server'
import * as express0_3_7 from 'a2a-sdk-0-3-rest/server/express'
import express from 'express'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { breakingGrpc, grpcTransport } from '../support/grpc/grpc-transport.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { startSdkGrpcServer } from '../support/sdk/grpc-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'

const endedTaskError = 'task-ended'

describe('a server of @a2a-js/sdk 0.2.5 over JSON-RPC', () => {
  function start() {
    return startExpressServer((app, origin) => {
      const { securitySchemes: _, ...card } = legacySdkCard(origin, { protocolVersion: '0.2.5' })
      const handler = new Handler0_2(card, new TaskStore0_2(), legacySdkAgent())
      // This version has the types of an older Express.
      new A2AExpressApp(handler).setupRoutes(app as never)
    })
  }

  sdkServerContract({
    start,
    endpoint: { dialect: 'v0.2', binding: 'JSONRPC' },
    canListConfigs: false,
    hasExtendedCard: false,
    endedTaskError,
  })
})

describe('a server of @a2a-js/sdk 0.3.0 over JSON-RPC', () => {
  /** The package does not contain its Express app: this is what that app did with its handler. */
  function start() {
    return startExpressServer((app, origin) => {
      const more = { supportsAuthenticatedExtendedCard: true }
      const card = legacySdkCard(origin, more)
      const extendedCard = legacySdkCard(origin, { ...more, name: 'Ada, extended' })
      const handler = new Handler0_3_0(card, new TaskStore0_3_0(), legacySdkAgent(), undefined, extendedCard)
      const transport = new JsonRpcTransportHandler(handler)
      app.use(express.json())
      app.get('/.well-known/agent-card.json', (_, response) => void response.json(card))
      app.post('/', async (request, response) => {
        const result = await transport.handle(request.body)
        if (!(Symbol.asyncIterator in result)) return void response.json(result)
        response.setHeader('content-type', 'text/event-stream')
        response.flushHeaders()
        try {
          for await (const event of result) {
            response.write(`id: ${Date.now()}\ndata: ${JSON.stringify(event)}\n\n`)
          }
        } catch (error) {
          const failure = { jsonrpc: '2.0', id: request.body.id, error: { code: -32603, message: `${error}` } }
          response.write(`event: error\ndata: ${JSON.stringify(failure)}\n\n`)
        }
        response.end()
      })
    })
  }

  sdkServerContract({ start, endpoint: { dialect: 'v0.3', binding: 'JSONRPC' }, endedTaskError })
})

type ServerModule = typeof server0_3_14 & typeof express0_3_14

/** The versions differ in their types, but not in the part that is used here. */
const versions = [
  {
    version: '0.3.7',
    sdk: { ...server0_3_7, ...express0_3_7 } as unknown as ServerModule,
    restDialect: 'v0.3',
  },
  { version: '0.3.14', sdk: { ...server0_3_14, ...express0_3_14 }, restDialect: 'v0.3-proto' },
] as const

/** The extended card requires an authenticated user. */
const userBuilder = async () => ({ isAuthenticated: true, userName: 'alice' })

type LegacyCardMembers = Parameters<typeof legacySdkCard>[1]

function createRequestHandler(sdk: ServerModule, origin: string, members: LegacyCardMembers) {
  const card = { ...members, supportsAuthenticatedExtendedCard: true }
  return new sdk.DefaultRequestHandler(
    legacySdkCard(origin, card),
    new sdk.InMemoryTaskStore(),
    legacySdkAgent(),
    undefined,
    new sdk.InMemoryPushNotificationStore(),
    undefined,
    legacySdkCard(origin, { ...card, name: 'Ada, extended' }),
  )
}

function startHttp(sdk: ServerModule): Promise<string> {
  return startExpressServer((app, origin) => {
    const requestHandler = createRequestHandler(sdk, origin, {
      url: `${origin}/rpc`,
      additionalInterfaces: [{ url: `${origin}/rest`, transport: 'HTTP+JSON' }],
    })
    const options = { requestHandler, userBuilder }
    app.use('/.well-known/agent-card.json', sdk.agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', sdk.jsonRpcHandler(options))
    app.use('/rest', sdk.restHandler(options))
  })
}

describe.each(versions)('a server of @a2a-js/sdk $version over JSON-RPC', ({ sdk }) => {
  const start = () => startHttp(sdk)
  sdkServerContract({ start, endpoint: { dialect: 'v0.3', binding: 'JSONRPC' }, endedTaskError })
})

describe.each(versions)('a server of @a2a-js/sdk $version over REST', ({ sdk, restDialect: dialect }) => {
  const start = () => startHttp(sdk)
  const options = { bindings: ['HTTP+JSON'] as const }
  sdkServerContract({ start, options, endpoint: { dialect, binding: 'HTTP+JSON' }, endedTaskError })
})

describe('a server of @a2a-js/sdk 0.3.14 over gRPC', () => {
  async function start(): Promise<string> {
    const { sdk } = versions[1]
    let requestHandler: ReturnType<typeof createRequestHandler> | undefined
    await startSdkGrpcServer(A2AService, (address) => {
      requestHandler = createRequestHandler(sdk, '', { url: address, preferredTransport: 'GRPC' })
      return grpcService({ requestHandler, userBuilder })
    })
    return await startExpressServer((app) => {
      if (!requestHandler) return
      app.use('/.well-known/agent-card.json', sdk.agentCardHandler({ agentCardProvider: requestHandler }))
    })
  }

  sdkServerContract({
    start,
    options: () => ({ bindings: [grpcTransport()] }),
    withBrokenStreams: breakingGrpc,
    endpoint: { dialect: 'v0.3-proto', binding: 'GRPC' },
    endedTaskError,
  })
})
