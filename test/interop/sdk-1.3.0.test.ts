import { ListTasksRequest, SendMessageRequest } from '@a2a-js/sdk'
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc'
import { isJsonRpcError, PushNotificationNotSupportedError } from '@a2a-js/sdk/errors'
import { describe, expect, it } from 'vitest'
import { sdkClientContract } from '../contracts/sdk-client.ts'
import { count } from '../support/agents/interop-agent.ts'
import { sdkFactoryClient } from '../support/sdk/factory-client.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const bindings = [
  ['JSON-RPC', () => new JsonRpcTransportFactory()],
  ['REST', () => new RestTransportFactory()],
  ['gRPC', () => new GrpcTransportFactory()],
] as const

describe.each(bindings)('the client of @a2a-js/sdk 1.3.0 over %s', (_, transport) => {
  sdkClientContract({
    connect: (origin, cardPath) => sdkFactoryClient(new ClientFactory({ transports: [transport()] }), origin, cardPath),
    hasFinal: false,
    lateSubscription: 'UnsupportedOperationError',
    hasList: true,
    serverOptions: { grpc: true },
  })
})

describe('the client of @a2a-js/sdk 1.3.0 that is left to choose', () => {
  const transports = [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()]

  async function connect() {
    const { server } = await startTestServer(count, { grpc: true })
    return await new ClientFactory({ transports }).createFromUrl(server.url)
  }

  function request(message: object = {}, configuration: object = {}): SendMessageRequest {
    const parts = [{ text: 'count' }]
    return SendMessageRequest.fromJSON({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...message },
      configuration,
    })
  }

  it('takes JSON-RPC 1.0, which the card names first', async () => {
    const { protocolVersion, transport } = await connect()
    expect([protocolVersion, transport.protocolName]).toEqual(['1.0', 'JSONRPC'])
  })

  it('lists the tasks of one context', async () => {
    const client = await connect()
    for (const contextId of ['a', 'b', 'a']) await client.sendMessage(request({ contextId }))
    const { tasks, totalSize } = await client.listTasks(ListTasksRequest.fromJSON({ contextId: 'a' }))
    expect(totalSize).toBe(2)
    expect(tasks.map(({ contextId }) => contextId)).toEqual(['a', 'a'])
  })

  it('understands that there is no push when it sends a message with a wish for it', async () => {
    const push = { taskPushNotificationConfig: { url: 'https://example.com/hook' } }
    const sending = (await connect()).sendMessage(request({}, push))
    await expect(sending).rejects.toBeInstanceOf(PushNotificationNotSupportedError)
  })

  it('understands that a message is invalid', async () => {
    const failure = await (await connect()).sendMessage(request({ messageId: '' })).catch((error) => error)
    expect(isJsonRpcError(failure) && failure.envelopeCode).toBe(-32602)
  })
})

const legacyCompat = { enabled: true }
/** What the SDK does not tell its user of 0.3, depending on the binding. */
const gaps = {
  proto: { hasAppend: false },
  grpc: { hasAppend: false, hasNoHistory: false },
}

const legacyBindings = [
  ['JSON-RPC', () => new JsonRpcTransportFactory({ legacyCompat }), {}],
  ['REST', () => new RestTransportFactory({ legacyCompat }), gaps.proto],
  ['gRPC', () => new GrpcTransportFactory({ legacyCompat }), gaps.grpc],
] as const

describe.each(legacyBindings)(
  'the client of @a2a-js/sdk 1.3.0 over %s, if the card knows only 0.3',
  (_, transport, gap) => {
    const cardResolver = new DefaultAgentCardResolver({ legacyCompat })
    sdkClientContract({
      connect: (origin, cardPath) =>
        sdkFactoryClient(new ClientFactory({ transports: [transport()], cardResolver }), origin, cardPath),
      hasFinal: false,
      ...gap,
      lateSubscription: 'the task',
      serverOptions: { grpc: true, dialects: { cards: '0.3' } },
    })
  },
)
