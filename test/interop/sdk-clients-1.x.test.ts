import { ListTasksRequest, SendMessageRequest } from '@a2a-js/sdk'
import * as client1_3 from '@a2a-js/sdk/client'
import * as grpc1_3 from '@a2a-js/sdk/client/grpc'
import { isJsonRpcError, PushNotificationNotSupportedError } from '@a2a-js/sdk/errors'
import * as client1_0 from 'a2a-sdk-1-0/client'
import * as grpc1_0 from 'a2a-sdk-1-0/client/grpc'
import { describe, expect, it } from 'vitest'
import { sdkClientContract } from '../contracts/sdk-client.ts'
import { count } from '../support/agents/interop-agent.ts'
import { sdkFactoryClient } from '../support/sdk/factory-client.ts'
import { startTestServer } from '../support/servers/test-server.ts'

type ClientModule = typeof client1_3 & typeof grpc1_3

/** The versions differ in their types, but not in the part that is used here. */
const versions: Readonly<Record<string, ClientModule>> = {
  '1.0.1': { ...client1_0, ...grpc1_0 } as unknown as ClientModule,
  '1.3.0': { ...client1_3, ...grpc1_3 },
}
const bindings = ['JSON-RPC', 'REST', 'gRPC'] as const
type Binding = (typeof bindings)[number]

const legacyCompat = { enabled: true }

/** How 0.3 differs by binding, and what of it the SDK does not pass on to its users. */
const legacyGaps: Readonly<Record<Binding, object>> = {
  'JSON-RPC': {},
  REST: { hasAppend: false },
  gRPC: { hasAppend: false, hasNoHistory: false, getsPublicCard: true },
}

function createTransport(sdk: ClientModule, binding: Binding, options = {}) {
  switch (binding) {
    case 'JSON-RPC':
      return new sdk.JsonRpcTransportFactory(options)
    case 'REST':
      return new sdk.RestTransportFactory(options)
    case 'gRPC':
      return new sdk.GrpcTransportFactory(options)
  }
}

const cases = Object.entries(versions).flatMap(([version, sdk]) =>
  bindings.map((binding) => ({ version, sdk, binding })),
)

describe.each(cases)('the client of @a2a-js/sdk $version over $binding', ({ sdk, binding }) => {
  sdkClientContract({
    connect: (origin, cardPath) => {
      const factory = new sdk.ClientFactory({ transports: [createTransport(sdk, binding)] })
      return sdkFactoryClient(factory, origin, cardPath)
    },
    hasFinal: false,
    lateSubscription: 'UnsupportedOperationError',
    hasList: true,
    serverOptions: { grpc: true },
  })
})

describe.each(cases)('the client of @a2a-js/sdk $version over $binding with a 0.3 card', ({ sdk, binding }) => {
  sdkClientContract({
    connect: (origin, cardPath) => {
      const cardResolver = new sdk.DefaultAgentCardResolver({ legacyCompat })
      const transports = [createTransport(sdk, binding, { legacyCompat })]
      return sdkFactoryClient(new sdk.ClientFactory({ transports, cardResolver }), origin, cardPath)
    },
    hasFinal: false,
    ...legacyGaps[binding],
    lateSubscription: 'the task',
    serverOptions: { grpc: true, dialects: { cards: '0.3' } },
  })
})

describe('the client of @a2a-js/sdk 1.3.0 with all transports', () => {
  const { ClientFactory, GrpcTransportFactory, JsonRpcTransportFactory, RestTransportFactory } = {
    ...client1_3,
    ...grpc1_3,
  }
  const transports = [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()]

  async function connect() {
    const { server } = await startTestServer(count, { grpc: true })
    return await new ClientFactory({ transports }).createFromUrl(server.url)
  }

  function createRequest(message: object = {}, configuration: object = {}): SendMessageRequest {
    const parts = [{ text: 'count' }]
    return SendMessageRequest.fromJSON({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...message },
      configuration,
    })
  }

  it('the client chooses JSON-RPC 1.0, the first interface of the card', async () => {
    const { protocolVersion, transport } = await connect()
    expect([protocolVersion, transport.protocolName]).toEqual(['1.0', 'JSONRPC'])
  })

  it('the client lists the tasks of one context', async () => {
    const client = await connect()
    for (const contextId of ['a', 'b', 'a']) await client.sendMessage(createRequest({ contextId }))
    const { tasks, totalSize } = await client.listTasks(ListTasksRequest.fromJSON({ contextId: 'a' }))
    expect(totalSize).toBe(2)
    expect(tasks.map(({ contextId }) => contextId)).toEqual(['a', 'a'])
  })

  it('a message with a push config is rejected as PushNotificationNotSupportedError', async () => {
    const push = { taskPushNotificationConfig: { url: 'https://example.com/hook' } }
    const sending = (await connect()).sendMessage(createRequest({}, push))
    await expect(sending).rejects.toBeInstanceOf(PushNotificationNotSupportedError)
  })

  it('an invalid message is rejected with the code -32602', async () => {
    const failure = await (await connect()).sendMessage(createRequest({ messageId: '' })).catch((error) => error)
    expect(isJsonRpcError(failure) && failure.envelopeCode).toBe(-32602)
  })
})
