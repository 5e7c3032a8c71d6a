import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from 'a2a-sdk-0-3-last/client'
import { GrpcTransportFactory } from 'a2a-sdk-0-3-last/client/grpc'
import { describe } from 'vitest'
import { sdkClientContract } from '../contracts/sdk-client.ts'
import { legacyFactoryClient } from '../support/sdk/legacy-factory-client.ts'

/** What this SDK does not tell its user, depending on the binding. */
const gaps = {
  proto: { hasAppend: false },
  grpc: { hasAppend: false, hasNoHistory: false, endedTaskError: 'FAILED_PRECONDITION' },
}

const bindings = [
  ['JSON-RPC', () => new JsonRpcTransportFactory(), {}],
  ['REST', () => new RestTransportFactory(), gaps.proto],
  ['gRPC', () => new GrpcTransportFactory(), gaps.grpc],
] as const

describe.each(bindings)('the client of @a2a-js/sdk 0.3.14 over %s', (_, transport, gap) => {
  sdkClientContract({
    connect: (origin, cardPath) =>
      legacyFactoryClient(new ClientFactory({ transports: [transport()] }), origin, cardPath),
    hasFinal: true,
    ...gap,
    lateSubscription: 'the task',
    serverOptions: { grpc: true },
  })
})
