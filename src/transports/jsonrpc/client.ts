import { isObject } from '../../dialects/is-object.ts'
import type { Service } from '../../protocol/service.ts'
import type { WireClientOptions } from '../client-options.ts'
import { failures } from '../on-failure.ts'
import { createWireClient, type Speech } from '../wire-client.ts'

export function createJsonRpcClient(options: WireClientOptions): Service {
  const { url, dialect } = options
  let calls = 0

  const speech: Speech = {
    binding: 'JSONRPC',
    has: (operation) => dialect.methods[operation] !== undefined,
    compose(operation, params) {
      const body = { jsonrpc: '2.0', id: ++calls, method: dialect.methods[operation] ?? operation, params }
      return [{ url, method: 'POST', body, contentType: 'application/json' }]
    },
    async resultIn(answer, operation) {
      const { body } = answer
      if (isObject(body) && body.result !== undefined && !isObject(body.error)) return body.result
      const { readOddAnswer } = await failures()
      return await readOddAnswer(answer, operation, dialect)
    },
    async eventIn(data, isError) {
      if (!isObject(data)) return data
      const { error = isError ? data : undefined, result } = data
      if (isObject(error)) throw await (await failures()).readToldError(error, dialect)
      // Some servers forget the envelope.
      return result ?? data
    },
  }
  return createWireClient(options, speech)
}
