import type { ClientDialect, WireError } from '../../dialects/dialect.ts'
import { isObject } from '../../dialects/is-object.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Service } from '../../protocol/service.ts'
import type { WireClientOptions } from '../client-options.ts'
import { foreignAnswer, toldError } from '../foreign-answer.ts'
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
    resultIn(answer, operation) {
      const { body, form, status } = answer
      const error = isObject(body) ? errorIn(body) : undefined
      if (error) throw toldError(readError(error, dialect), answer)
      if (isObject(body) && body.result !== undefined) return body.result
      // Some servers leave out a result that is null; to be told nothing is only enough where nothing is to be told.
      const isNothing = form === 'empty' || (isObject(body) && body.jsonrpc !== undefined)
      if (operation === 'deletePushConfig' && status < 300 && isNothing) return null
      throw foreignAnswer(answer)
    },
    eventIn: (data, isError) => readEvent(data, isError, dialect),
  }
  return createWireClient(options, speech)
}

function readEvent(data: unknown, isError: boolean, dialect: ClientDialect): unknown {
  if (!isObject(data)) return data
  const { error = isError ? data : undefined, result } = data
  const told = isObject(error) ? wireError(error) : undefined
  if (told) throw readError(told, dialect)
  // Some servers forget the envelope.
  return result ?? data
}

/** Who does not speak our dialect cannot tell us so in it; Parley at least names those that it speaks. */
function readError(error: WireError, dialect: ClientDialect): A2AError {
  const told = dialect.decodeError(error)
  if (!JSON.stringify(error.data ?? null).includes('"supportedVersions"')) return told
  return new A2AError('version-not-supported', told.message, { cause: error, metadata: told.metadata })
}

/** One of JSON-RPC: proxies and frameworks also answer with an `error`. Servers of 0.1 may say that there is none. */
function errorIn({ jsonrpc, error }: JsonObject): WireError | undefined {
  if (!isObject(error)) return undefined
  const isOurs = jsonrpc !== undefined || (typeof error.code === 'number' && error.code < 0)
  return isOurs ? wireError(error) : undefined
}

function wireError({ code, message, data }: JsonObject): WireError {
  return {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : '',
    ...(data !== undefined && { data }),
  }
}
