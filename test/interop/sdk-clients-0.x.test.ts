import * as client0_2 from 'a2a-sdk-0-2/client'
import * as client0_3_0 from 'a2a-sdk-0-3-first/client'
import * as client0_3_14 from 'a2a-sdk-0-3-last/client'
import { GrpcTransportFactory } from 'a2a-sdk-0-3-last/client/grpc'
import * as client0_3_7 from 'a2a-sdk-0-3-rest/client'
import { describe } from 'vitest'
import { sdkClientContract } from '../contracts/sdk-client.ts'
import { unwrapResult, unwrapResults } from '../support/sdk/json-rpc-results.ts'
import { legacySdkClient } from '../support/sdk/legacy-client.ts'
import { legacyFactoryClient } from '../support/sdk/legacy-factory-client.ts'

describe.each([
  ['0.2.5', client0_2.A2AClient],
  ['0.3.0', client0_3_0.A2AClient],
])('the client of @a2a-js/sdk %s over JSON-RPC', (_, A2AClient) => {
  sdkClientContract({
    async connect(origin, cardPath) {
      const client = new A2AClient(origin, cardPath)
      await client.getAgentCard()
      return legacySdkClient(unwrapResults(client), {
        card: () => client.getAgentCard(),
        push: { get: (id) => unwrapResult(client.getTaskPushNotificationConfig({ id })) },
      })
    },
    hasFinal: true,
    lateSubscription: 'the task',
    hasExtendedCard: false,
  })
})

const bindings0_3_7 = [
  ['JSON-RPC', () => new client0_3_7.JsonRpcTransportFactory()],
  ['REST', () => new client0_3_7.RestTransportFactory()],
] as const

describe.each(bindings0_3_7)('the client of @a2a-js/sdk 0.3.7 over %s', (_, createTransport) => {
  sdkClientContract({
    connect: (origin, cardPath) =>
      legacyFactoryClient(new client0_3_7.ClientFactory({ transports: [createTransport()] }), origin, cardPath),
    hasFinal: true,
    lateSubscription: 'the task',
  })
})

/** The gaps of this SDK depend on the binding. */
const bindings0_3_14 = [
  ['JSON-RPC', () => new client0_3_14.JsonRpcTransportFactory(), {}],
  ['REST', () => new client0_3_14.RestTransportFactory(), { hasAppend: false }],
  [
    'gRPC',
    () => new GrpcTransportFactory(),
    { hasAppend: false, hasNoHistory: false, endedTaskError: 'FAILED_PRECONDITION', getsPublicCard: true },
  ],
] as const

describe.each(bindings0_3_14)('the client of @a2a-js/sdk 0.3.14 over %s', (_, createTransport, gaps) => {
  sdkClientContract({
    connect: (origin, cardPath) =>
      legacyFactoryClient(new client0_3_14.ClientFactory({ transports: [createTransport()] }), origin, cardPath),
    hasFinal: true,
    ...gaps,
    lateSubscription: 'the task',
    serverOptions: { grpc: true },
  })
})
