import { A2AError } from '../protocol/errors.ts'
import type { DialectInfo } from './dialect.ts'
import { v1_0Client } from './v1.0/client.ts'
import { methods } from './v1.0/methods.ts'

/** All dialects of the client, in the order of preference. Versions before 1.0 are loaded when an agent needs them. */
export const clientDialects: readonly [DialectInfo, ...DialectInfo[]] = [
  {
    name: 'v1.0',
    version: '1.0',
    bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
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

/** The only part of the client that is loaded lazily: most pages never meet a version before 1.0. */
export async function loadLegacy(): Promise<typeof import('./legacy.ts')> {
  try {
    return await import('./legacy.ts')
  } catch (cause) {
    const problem = 'The code for A2A versions before 1.0 could not be loaded.'
    throw new A2AError('unavailable', problem, { cause, reason: 'not-loaded' })
  }
}
