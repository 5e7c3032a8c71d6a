import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'a2a-sdk-1-0/client'
import { GrpcTransportFactory } from 'a2a-sdk-1-0/client/grpc'
import { describe } from 'vitest'
import { sdkClientContract } from '../contracts/sdk-client.ts'
import { sdkFactoryClient } from '../support/sdk/factory-client.ts'

const bindings = [
  ['JSON-RPC', () => new JsonRpcTransportFactory()],
  ['REST', () => new RestTransportFactory()],
  ['gRPC', () => new GrpcTransportFactory()],
] as const

describe.each(bindings)('the client of @a2a-js/sdk 1.0.1 over %s', (_, transport) => {
  sdkClientContract({
    connect: (origin, cardPath) => sdkFactoryClient(new ClientFactory({ transports: [transport()] }), origin, cardPath),
    hasFinal: false,
    lateSubscription: 'UnsupportedOperationError',
    hasList: true,
    serverOptions: { grpc: true },
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
  'the client of @a2a-js/sdk 1.0.1 over %s, if the card knows only 0.3',
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
