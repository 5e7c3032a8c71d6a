import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { ClientDialect, WireError } from '../../dialects/dialect.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Operation, Service } from '../../protocol/service.ts'
import { errorsOf, notA2AError, withHttpDetails } from '../client/failures.ts'
import { createWireClient, type HttpBinding } from '../client/http-client.ts'
import type { WireClientOptions } from '../client/options.ts'
import type { Answer } from '../client/read-response.ts'

export function createJsonRpcClient(options: WireClientOptions): Service {
  const { url, dialect } = options
  let calls = 0

  const speech: HttpBinding = {
    binding: 'JSONRPC',
    has: (operation) => dialect.methods[operation] !== undefined,
    compose(operation, params) {
      const body = { jsonrpc: '2.0', id: ++calls, method: dialect.methods[operation] ?? operation, params }
      return [{ url, method: 'POST', body, contentType: 'application/json' }]
    },
    resultIn(answer, operation) {
      const { body } = answer
      if (isObject(body) && body.result !== undefined && !isObject(body.error)) return body.result
      return readOddAnswer(answer, operation, dialect)
    },
    eventIn(data, isError) {
      if (!isObject(data)) return data
      const { error = isError ? data : undefined, result } = data
      if (isObject(error)) throw readError(wireError(error), dialect)
      // Some servers forget the envelope.
      return result ?? data
    },
  }
  return createWireClient(options, speech)
}

/** What an answer says that is not just a result. Throws the error that it tells, or that it is. */
function readOddAnswer(answer: Answer, operation: Operation, dialect: ClientDialect): unknown {
  const { body, form, status } = answer
  const error = isObject(body) ? errorIn(body) : undefined
  if (error) throw withHttpDetails(readError(error, dialect), answer)
  if (isObject(body) && body.result !== undefined) return body.result
  // Some servers leave out a result that is null; to be told nothing is only enough where nothing is to be told.
  const isNothing = form === 'empty' || (isObject(body) && body.jsonrpc !== undefined)
  if (operation === 'deletePushConfig' && status < 300 && isNothing) return null
  throw notA2AError(answer)
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

/** Who does not speak our dialect cannot tell us so in it; Parley at least names those that it speaks. */
function readError(error: WireError, dialect: ClientDialect): A2AError {
  const { decodeError } = errorsOf(dialect)
  const told = decodeError(error)
  if (!JSON.stringify(error.data ?? null).includes('"supportedVersions"')) return told
  return new A2AError('version-not-supported', told.message, { cause: error, metadata: told.metadata })
}
