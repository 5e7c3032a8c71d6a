import { join } from 'node:path'
import { isLoopback } from '../core/http/origin.ts'
import { createKeyedClient, type OperatorClient, type OperatorClientOptions } from '../operator/client.ts'
import { defaultDirectory, keyFileName, readOperatorKey } from './operator-key.ts'

/**
 * Creates a client of the operator API. A server on this machine that asks for its key gets it from `keyFile`.
 *
 * @example
 * const operator = createOperatorClient({ url: 'http://localhost:4000/console' })
 * const { tasks } = await operator.tasks({ state: 'failed' })
 */
export function createOperatorClient(options: OperatorClientOptions): OperatorClient {
  return createKeyedClient(options, () => {
    const { url, keyFile = defaultKeyFile() } = options
    return isLoopback(new URL(url).hostname) ? readOperatorKey(keyFile) : undefined
  })
}

function defaultKeyFile(): string {
  return join(process.env.PARLEY_DIRECTORY || defaultDirectory, keyFileName)
}
