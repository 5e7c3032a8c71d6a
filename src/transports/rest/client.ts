import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { ClientDialect, RestRequest } from '../../dialects/dialect.ts'
import { type A2AError, withContext } from '../../protocol/errors.ts'
import type { Operation, Service } from '../../protocol/service.ts'
import { errorsOf, notA2AError, withHttpDetails } from '../client/failures.ts'
import { createWireClient, type HttpBinding, type HttpRequest } from '../client/http-client.ts'
import type { WireClientOptions } from '../client/options.ts'
import type { Answer } from '../client/read-response.ts'

export function createRestClient(options: WireClientOptions): Service {
  const { url, dialect } = options
  const { rest } = dialect
  if (!rest) throw new TypeError(`A2A ${dialect.version} has no REST binding`)
  const { contentType, prefix } = rest
  let bases = possibleBases(url, prefix)
  // The text of every version says POST, its proto says GET.
  let subscribeBy: readonly RestRequest['method'][] = ['POST', 'GET']

  function composedAt(base: string, method: RestRequest['method'], place: RestRequest): readonly HttpRequest[] {
    const { path, query = {}, body = {}, alternativeBody } = place
    const composed = {
      url: `${base}${path}${queryOf(query)}`,
      method,
      contentType,
      ...(method === 'POST' && { body }),
      confirm() {
        bases = [base]
        if (path.endsWith(':subscribe')) subscribeBy = [method]
      },
    }
    return alternativeBody
      ? [
          { ...composed, hasOtherForm: true },
          { ...composed, body: alternativeBody },
        ]
      : [composed]
  }

  const speech: HttpBinding = {
    binding: 'HTTP+JSON',
    has: () => true,
    compose(operation, wire) {
      const place = rest.toRequest(operation, wire)
      const methods = operation === 'subscribeToTask' ? subscribeBy : [place.method]
      return bases.flatMap((base) => methods.flatMap((method) => composedAt(base, method, place)))
    },
    resultIn(answer, operation) {
      const { status, body, form } = answer
      if (status >= 200 && status < 300 && (form === 'json' || form === 'empty')) return body ?? {}
      throw readRefusal(answer, operation, dialect)
    },
    eventIn(data, isError) {
      if (!isObject(data) || !(isError || isFailure(data))) return data
      throw errorsOf(dialect).decodeHttpError({ status: 500, body: data })
    },
  }
  return createWireClient(options, speech)
}

/** What an answer tells that has no result. A path that does not exist, and a task that does not, may be told alike. */
function readRefusal(answer: Answer, operation: Operation, dialect: ClientDialect): A2AError {
  const { status, body } = answer
  const foreign = notA2AError(answer)
  if (!isObject(body)) return foreign
  const { decodeHttpError } = errorsOf(dialect)
  const told = withHttpDetails(decodeHttpError({ status, body }), answer)
  if (isOfA2A(body)) return told
  if (foreign.reason !== 'wrong-path') return isObject(body.error) ? told : foreign
  return status === 404 && isAboutTask(operation) ? withContext(told, { reason: 'wrong-path' }) : foreign
}

/**
 * What the paths of REST may follow: the address of the card and the prefix of the version. Some cards have the prefix
 * in the address already, others forget what the server itself was mounted at.
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

/** An event that tells an error has the body that the error would have been before the stream. */
function isFailure({ error, code, message }: JsonObject): boolean {
  return isObject(error) || (typeof code === 'number' && typeof message === 'string')
}

/** Frameworks and proxies also answer in JSON, but not with a reason, a code of JSON-RPC or the type of an error. */
function isOfA2A({ error, code, type }: JsonObject): boolean {
  const details = isObject(error) && Array.isArray(error.details) ? error.details : []
  return details.length > 0 || (typeof code === 'number' && code < 0) || typeof type === 'string'
}

function isAboutTask(operation: Operation): boolean {
  return operation !== 'sendMessage' && operation !== 'streamMessage' && operation !== 'listTasks'
}
