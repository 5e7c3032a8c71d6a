import { isObject, type JsonObject } from '../../base/json.ts'
import type { ClientDialect, WireError } from '../../dialects/dialect.ts'
import { A2AError, withContext } from '../../protocol/errors.ts'
import type { Operation, Service } from '../../protocol/service.ts'
import { excerpt } from '../../schema/schema.ts'
import { errorDecoderOf, notA2AError, withHttpDetails } from '../client/failures.ts'
import { createHttpClient, type WireClientOptions } from '../client/http-client.ts'
import type { ResponseContent } from '../client/read-response.ts'

export function createJsonRpcClient(options: WireClientOptions): Service {
  const { url, dialect } = options
  let calls = 0
  return createHttpClient(options, {
    name: 'JSONRPC',
    supports: (operation) => dialect.methods[operation] !== undefined,
    createRequests(operation, params) {
      const contentType = 'application/json'
      const body = { jsonrpc: '2.0', id: ++calls, method: dialect.methods[operation] ?? operation, params }
      const call = { url, method: 'POST', body, contentType } as const
      const pages = (operation === 'getExtendedCard' && dialect.extendedCardUrls?.(url)) || []
      return [...pages.map((url) => ({ url, method: 'GET', contentType }) as const), call]
    },
    readResult(content, operation, { body, method }) {
      if (method === 'GET') return readPage(content)
      if (isObject(content.body)) requireSameId(content.body, body, url)
      return readResult(content, operation, dialect)
    },
    readEvent(data, isError, { body }) {
      if (!isObject(data)) return data
      requireSameId(data, body, url)
      const { error = isError ? data : undefined, result } = data
      if (isObject(error)) throw decodeWireError(toWireError(error), dialect)
      // Java servers send an error as its name and its message.
      if (typeof error === 'string' && result === undefined) {
        throw decodeWireError({ code: -32603, message: `${error}: ${data.message ?? 'no message'}` }, dialect)
      }
      // Some servers leave out the envelope.
      return result ?? data
    },
  })
}

function readPage(content: ResponseContent): unknown {
  if (content.status >= 200 && content.status < 300 && isObject(content.body)) return content.body
  throw notA2AError(content)
}

/** Some servers leave out the id, or write it as a string. The answer to another call must not be taken for this one. */
function requireSameId(envelope: JsonObject, request: JsonObject | undefined, url: string): void {
  const { id, jsonrpc } = envelope
  if (jsonrpc === undefined || id === undefined || id === null || String(id) === String(request?.id)) return
  const problem = `${url} answered another call: the id is ${excerpt(String(id))} instead of ${request?.id}.`
  throw new A2AError('invalid-agent-response', problem, { url, reason: 'foreign-id' })
}

function readResult(content: ResponseContent, operation: Operation, dialect: ClientDialect): unknown {
  const { body, form, status } = content
  const envelope = isObject(body) ? body : undefined
  const error = envelope && wireErrorIn(envelope)
  if (error) throw withHttpDetails(decodeWireError(error, dialect), content)
  if (envelope?.result !== undefined) return envelope.result
  // Some servers leave out a result that is null. No result is enough only for an operation without one.
  const hasNoResult = form === 'empty' || envelope?.jsonrpc !== undefined
  if (operation === 'deletePushConfig' && status < 300 && hasNoResult) return null
  throw notA2AError(content)
}

/** The JSON-RPC error of an envelope: proxies and frameworks also answer with an `error`. 0.1 servers may set it to null. */
function wireErrorIn({ jsonrpc, error }: JsonObject): WireError | undefined {
  if (!isObject(error)) return undefined
  const isJsonRpc = jsonrpc !== undefined || (typeof error.code === 'number' && error.code < 0)
  return isJsonRpc ? toWireError(error) : undefined
}

function toWireError({ code, message, data }: JsonObject): WireError {
  return {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : '',
    data,
  }
}

/**
 * A server that does not speak the dialect of a call cannot report that in the dialect; Parley lists the versions that
 * it speaks.
 */
function decodeWireError(error: WireError, dialect: ClientDialect): A2AError {
  const decodedError = errorDecoderOf(dialect).decodeError(error)
  if (!JSON.stringify(error.data ?? null).includes('"supportedVersions"')) return decodedError
  return withContext(decodedError, { code: 'version-not-supported' })
}
