import { defined, isObject, type JsonObject } from '../../base/json.ts'
import type { ClientDialect, RestRequest } from '../../dialects/dialect.ts'
import { type A2AError, withContext } from '../../protocol/errors.ts'
import type { Operation, Service } from '../../protocol/service.ts'
import { codeOfMessage, errorDecoderOf, notA2AError, withHttpDetails } from '../client/failures.ts'
import { createHttpClient, type HttpRequest, type WireClientOptions } from '../client/http-client.ts'
import type { ResponseContent } from '../client/read-response.ts'

export function createRestClient(options: WireClientOptions): Service {
  const { url, dialect } = options
  const { rest } = dialect
  if (!rest) throw new TypeError(`A2A ${dialect.version} has no REST binding`)
  const { contentType, prefix } = rest
  let bases = possibleBases(url, prefix)
  // The specification of every version says POST, its proto says GET.
  let subscribeMethods: readonly RestRequest['method'][] = ['POST', 'GET']

  function requestsAt(base: string, method: RestRequest['method'], request: RestRequest): readonly HttpRequest[] {
    const { path, query = {}, body = {}, alternativeBody } = request
    const candidate = defined({
      url: `${base}${path}${queryOf(query)}`,
      method,
      contentType,
      body: method === 'POST' ? body : undefined,
      confirm() {
        bases = [base]
        if (path.endsWith(':subscribe')) subscribeMethods = [method]
      },
    })
    if (!alternativeBody) return [candidate]
    return [
      { ...candidate, hasOtherForm: true },
      { ...candidate, body: alternativeBody },
    ]
  }

  return createHttpClient(options, {
    name: 'HTTP+JSON',
    supports: () => true,
    createRequests(operation, wire) {
      const request = rest.toRequest(operation, wire)
      const methods = operation === 'subscribeToTask' ? subscribeMethods : [request.method]
      return bases.flatMap((base) => methods.flatMap((method) => requestsAt(base, method, request)))
    },
    readResult(content, operation) {
      const { status, body, form } = content
      if (status >= 200 && status < 300 && (form === 'json' || form === 'empty')) return body ?? {}
      throw readError(content, operation, dialect)
    },
    readEvent(data, isError) {
      if (!isObject(data) || !(isError || isErrorBody(data))) return data
      throw errorDecoderOf(dialect).decodeHttpError({ status: 500, body: withErrorType(data) })
    },
  })
}

/**
 * The URLs that the paths of REST may follow: the URL of the card and the prefix of the version. Some cards already have
 * the prefix in the URL, others leave out the path at which the server is mounted.
 */
export function possibleBases(url: string, prefix: string): readonly string[] {
  const plain = url.replace(/[?#].*$/s, '').replace(/\/+$/, '')
  const bare = plain.replace(/\/v1$/, '')
  const other = prefix === '' ? `${bare}/v1` : bare
  return [...new Set([`${plain}${prefix}`, plain, other, `${bare}${prefix}`])]
}

function queryOf(query: JsonObject): string {
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]))
  return parameters.size === 0 ? '' : `?${parameters}`
}

/** The error in a response. A missing path and a missing task may look the same. */
function readError(content: ResponseContent, operation: Operation, dialect: ClientDialect): A2AError {
  const { status } = content
  const foreign = notA2AError(content)
  if (!isObject(content.body)) return foreign
  const body = withErrorType(content.body)
  const error = withHttpDetails(errorDecoderOf(dialect).decodeHttpError({ status, body }), content)
  if (isA2AErrorBody(body)) return error
  if (foreign.reason !== 'wrong-path') return isObject(body.error) ? error : foreign
  if (codeOfMessage(error.message) === error.code) return error
  return status === 404 && isAboutTask(operation) ? withContext(error, { reason: 'wrong-path' }) : foreign
}

/** Frameworks and proxies also answer in JSON, but without a reason, a JSON-RPC code or an error type. */
function isA2AErrorBody({ error, code, type }: JsonObject): boolean {
  const details = isObject(error) && Array.isArray(error.details) ? error.details : []
  return details.length > 0 || (typeof code === 'number' && code < 0) || typeof type === 'string'
}

function isAboutTask(operation: Operation): boolean {
  return operation !== 'sendMessage' && operation !== 'streamMessage' && operation !== 'listTasks'
}

/** Java servers send an error as the name of its class, with the package, and its message. */
function withErrorType(body: JsonObject): JsonObject {
  const [, type] = typeof body.error === 'string' ? (/(?:^|\.)(\w{1,80}Error)$/.exec(body.error) ?? []) : []
  return type === undefined ? body : { ...body, type }
}

/** An error in a stream is an event with the body that the error would have as a response. */
function isErrorBody({ error, code, message }: JsonObject): boolean {
  return isObject(error) || ((typeof code === 'number' || typeof error === 'string') && typeof message === 'string')
}
