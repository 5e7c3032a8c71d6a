import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from 'a2a-sdk-0-3-rest/client'
import { describe } from 'vitest'
import { sdkClientContract } from '../contracts/sdk-client.ts'
import { legacyFactoryClient } from '../support/sdk/legacy-factory-client.ts'

const bindings = [
  ['JSON-RPC', () => new JsonRpcTransportFactory()],
  ['REST', () => new RestTransportFactory()],
] as const

describe.each(bindings)('the client of @a2a-js/sdk 0.3.7 over %s', (_, transport) => {
  sdkClientContract({
    connect: (origin, cardPath) =>
      legacyFactoryClient(new ClientFactory({ transports: [transport()] }), origin, cardPath),
    hasFinal: true,
    lateSubscription: 'the task',
  })
})
