import * as server1_3 from '@a2a-js/sdk/server'
import * as express1_3 from '@a2a-js/sdk/server/express'
import * as grpc1_3 from '@a2a-js/sdk/server/grpc'
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
import express from 'express'
import type { UpstreamOptions } from '../../src/gateway/options.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { startSdkGrpcServer } from '../support/sdk/grpc-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const userBuilder = async () => ({ isAuthenticated: true, userName: 'alice' })

function createHandler1_3(origin: string, card: object = {}) {
  return new server1_3.DefaultRequestHandler(
    sdkCard(origin, card),
    new server1_3.InMemoryTaskStore(),
    sdkAgent(),
    undefined,
    new server1_3.InMemoryPushNotificationStore(),
    undefined,
    sdkCard(origin, { ...card, name: 'Ada, extended' }),
  )
}

/** Agents of every version that a gateway may have to serve, each with the agent of `interop-agent.ts`. */
export const upstreams: Readonly<Record<string, () => Promise<UpstreamOptions>>> = {
  async 'a 0.1 server'() {
    const { server } = await startTestServer(count, { profile, dialects: ['v0.1'] })
    return { url: server.url }
  },
  async 'an SDK 0.2.5 server'() {
    const url = await startExpressServer((app, origin) => {
      const { securitySchemes: _, ...card } = legacySdkCard(origin, { protocolVersion: '0.2.5' })
      new A2AExpressApp(new Handler0_2(card, new TaskStore0_2(), legacySdkAgent())).setupRoutes(app as never)
    })
    return { url }
  },
  async 'an SDK 0.3.0 server'() {
    const url = await startExpressServer((app, origin) => {
      const card = legacySdkCard(origin)
      const transport = new JsonRpcTransportHandler(new Handler0_3_0(card, new TaskStore0_3_0(), legacySdkAgent()))
      app.use(express.json())
      app.get('/.well-known/agent-card.json', (_, response) => void response.json(card))
      app.post('/', async (request, response) => {
        const result = await transport.handle(request.body)
        if (!(Symbol.asyncIterator in result)) return void response.json(result)
        response.setHeader('content-type', 'text/event-stream')
        for await (const event of result) response.write(`data: ${JSON.stringify(event)}\n\n`)
        response.end()
      })
    })
    return { url }
  },
  async 'an SDK 0.3.14 server'() {
    const sdk = { ...server0_3_14, ...express0_3_14 }
    const url = await startExpressServer((app, origin) => {
      const card = legacySdkCard(origin, { url: `${origin}/rpc` })
      const requestHandler = new sdk.DefaultRequestHandler(card, new sdk.InMemoryTaskStore(), legacySdkAgent())
      app.use('/.well-known/agent-card.json', sdk.agentCardHandler({ agentCardProvider: requestHandler }))
      app.use('/rpc', sdk.jsonRpcHandler({ requestHandler, userBuilder }))
    })
    return { url }
  },
  async 'an SDK 1.3.0 server'() {
    const sdk = { ...server1_3, ...express1_3 }
    const url = await startExpressServer((app, origin) => {
      const requestHandler = createHandler1_3(origin)
      app.use('/.well-known/agent-card.json', sdk.agentCardHandler({ agentCardProvider: requestHandler }))
      app.use('/rpc', sdk.jsonRpcHandler({ requestHandler, userBuilder }))
      app.use('/rest', sdk.restHandler({ requestHandler, userBuilder }))
    })
    return { url }
  },
  async 'an SDK 1.3.0 server over gRPC'() {
    const sdk = { ...server1_3, ...express1_3, ...grpc1_3 }
    let requestHandler: InstanceType<typeof server1_3.DefaultRequestHandler> | undefined
    await startSdkGrpcServer(sdk.A2AService, (address) => {
      const supportedInterfaces = [{ url: address, protocolBinding: 'GRPC', protocolVersion: '1.0' }]
      requestHandler = createHandler1_3('', { supportedInterfaces })
      return sdk.grpcService({ requestHandler, userBuilder })
    })
    const url = await startExpressServer((app) => {
      if (!requestHandler) return
      app.use('/.well-known/agent-card.json', sdk.agentCardHandler({ agentCardProvider: requestHandler }))
    })
    return { url }
  },
  async 'a Parley server'() {
    const { server } = await startTestServer(count, { profile })
    return { url: server.url }
  },
}
