import { describe, onTestFinished } from 'vitest'
import { agent, type Run } from '../../src/agent/agent.ts'
import type { ClientDialect } from '../../src/dialects/dialect.ts'
import { v0_1Client } from '../../src/dialects/v0.1/index.ts'
import { v0_2Client } from '../../src/dialects/v0.2/index.ts'
import { v0_3Client } from '../../src/dialects/v0.3/index.ts'
import { v0_3ProtoClient } from '../../src/dialects/v0.3-proto/index.ts'
import { v1_0Client } from '../../src/dialects/v1.0/index.ts'
import type { Service } from '../../src/protocol/service.ts'
import { createHandler } from '../../src/server/handler.ts'
import type { WireClientOptions } from '../../src/transports/client-options.ts'
import { createJsonRpcClient } from '../../src/transports/jsonrpc/client.ts'
import { createRestClient } from '../../src/transports/rest/client.ts'
import { houseOf, quiet } from '../support/house.ts'
import type { ServiceContract } from './service/traits.ts'
import { serviceContract } from './service.ts'

type Create = (options: WireClientOptions) => Service

/** A client of one dialect and one binding, without a socket between it and the agent. */
function over(create: Create, dialect: ClientDialect): ServiceContract['open'] {
  return async (run: Run) => {
    const handler = createHandler(agent({ name: 'Test' }, run), { logger: quiet, cancelGrace: 50 })
    onTestFinished(() => handler.drain(0))
    const fetch: WireClientOptions['fetch'] = (url, init) => handler.fetch(new Request(url, init))
    return create({ url: 'http://agent.test/', dialect, fetch })
  }
}

const newest = { ended: 'unsupported-operation' } as const
const older = { ...newest, followedTooLate: 'the task' } as const
const oldest = {
  followedTooLate: 'the task',
  hasMessages: false,
  tellsTask: false,
  canReturnImmediately: false,
  canList: false,
  canRepeat: false,
  canResume: false,
  isComplete: false,
} as const

const services: readonly (readonly [string, ServiceContract])[] = [
  [
    'the runtime',
    {
      async open(run) {
        const house = houseOf(run, { cancelGrace: 50 })
        onTestFinished(() => house.drain(0))
        return house.service
      },
    },
  ],
  ['1.0 over JSON-RPC', { open: over(createJsonRpcClient, v1_0Client), ...newest }],
  ['1.0 over REST', { open: over(createRestClient, v1_0Client), ...newest }],
  ['0.3 over JSON-RPC', { open: over(createJsonRpcClient, v0_3Client), ...older }],
  ['0.3 over REST', { open: over(createRestClient, v0_3ProtoClient), ...older }],
  [
    '0.3 over REST with the objects of JSON-RPC',
    { open: over(createRestClient, v0_3Client), ...older, canList: false },
  ],
  ['0.2 over JSON-RPC', { open: over(createJsonRpcClient, v0_2Client), ...older, canList: false }],
  ['0.1 over JSON-RPC', { open: over(createJsonRpcClient, v0_1Client), ...oldest }],
]

describe.each(services)('the service of %s', (_, contract) => serviceContract(contract))
