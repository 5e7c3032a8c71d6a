import { A2AError } from '../protocol/errors.ts'
import type { DialectInfo } from './dialect.ts'
import { v1_0Client } from './v1.0/client.ts'
import { methods } from './v1.0/methods.ts'

const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const

/** All dialects of the client, in the order of preference. Those of other versions than 1.0 are loaded when an agent needs them. */
export const clientDialects: readonly [DialectInfo, ...DialectInfo[]] = [
  {
    name: 'v1.1',
    version: '1.1',
    extendsVersion: '1.0',
    bindings,
    sendMethod: methods.sendMessage,
    load: async () => (await loaded(import('./v1.1/client.ts'), '1.1')).v1_1Client,
  },
  {
    name: 'v1.0',
    version: '1.0',
    bindings,
    sendMethod: methods.sendMessage,
    load: () => v1_0Client,
  },
  {
    name: 'v0.3-proto',
    version: '0.3',
    olderEqualVersion: '0.2',
    bindings: ['HTTP+JSON', 'GRPC'],
    sendMethod: undefined,
    load: async () => (await loadLegacy()).v0_3ProtoClient,
  },
  {
    name: 'v0.3',
    profile: 'v0.3-house',
    version: '0.3',
    bindings: ['JSONRPC', 'HTTP+JSON'],
    sendMethod: 'message/send',
    load: async () => (await loadLegacy()).v0_3Client,
  },
  {
    name: 'v0.2',
    version: '0.2',
    bindings: ['JSONRPC'],
    sendMethod: 'message/send',
    load: async () => (await loadLegacy()).v0_2Client,
  },
  {
    name: 'v0.1',
    version: '0.1',
    bindings: ['JSONRPC'],
    sendMethod: 'tasks/send',
    cannotResume: true,
    load: async () => (await loadLegacy()).v0_1Client,
  },
]

export function loadLegacy(): Promise<typeof import('./legacy.ts')> {
  return loaded(import('./legacy.ts'), 'versions before 1.0')
}

/** The only parts of the client that are loaded lazily: most pages meet no other version than 1.0. */
async function loaded<T>(module: Promise<T>, versions: string): Promise<T> {
  try {
    return await module
  } catch (cause) {
    const problem = `The code for A2A ${versions} could not be loaded.`
    throw new A2AError('unavailable', problem, { cause, reason: 'not-loaded' })
  }
}
