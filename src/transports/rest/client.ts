import type { ClientDialect, RestPlace } from '../../dialects/dialect.ts'
import { isObject } from '../../dialects/is-object.ts'
import { type A2AError, inContext } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Operation, Service } from '../../protocol/service.ts'
import type { WireClientOptions } from '../client-options.ts'
import { foreignAnswer, toldError } from '../foreign-answer.ts'
import type { Answer } from '../read-answer.ts'
import { type Composed, createWireClient, type Speech } from '../wire-client.ts'
import { possibleBases } from './bases.ts'

export function createRestClient(options: WireClientOptions): Service {
  const { url, dialect } = options
  const { rest } = dialect
  if (!rest) throw new TypeError(`A2A ${dialect.version} has no REST binding`)
  const { contentType, prefix } = rest
  let bases = possibleBases(url, prefix)
  // The text of every version says POST, its proto says GET.
  let subscribeBy: readonly RestPlace['method'][] = ['POST', 'GET']

  function composedAt(base: string, method: RestPlace['method'], place: RestPlace): readonly Composed[] {
    const { path, query = {}, body = {}, otherBody } = place
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
    return otherBody
      ? [
          { ...composed, hasOtherForm: true },
          { ...composed, body: otherBody },
        ]
      : [composed]
  }

  const speech: Speech = {
    binding: 'HTTP+JSON',
    has: () => true,
    compose(operation, wire) {
      const place = rest.place(operation, wire)
      const methods = operation === 'subscribeToTask' ? subscribeBy : [place.method]
      return bases.flatMap((base) => methods.flatMap((method) => composedAt(base, method, place)))
    },
    resultIn(answer, operation) {
      const { status, body, form } = answer
      if (status >= 200 && status < 300 && (form === 'json' || form === 'empty')) return body ?? {}
      throw failureIn(answer, operation, dialect)
    },
    eventIn(data, isError) {
      if (isObject(data) && (isError || isFailure(data))) throw dialect.decodeHttpError({ status: 500, body: data })
      return data
    },
  }
  return createWireClient(options, speech)
}

/** A path that does not exist, and a task that does not, may be told in the same words. */
function failureIn(answer: Answer, operation: Operation, dialect: ClientDialect): A2AError {
  const { status, body } = answer
  const foreign = foreignAnswer(answer)
  if (!isObject(body)) return foreign
  const told = toldError(dialect.decodeHttpError({ status, body }), answer)
  if (isOfA2A(body)) return told
  if (foreign.reason !== 'wrong-path') return isObject(body.error) ? told : foreign
  return status === 404 && isAboutTask(operation) ? inContext(told, { reason: 'wrong-path' }) : foreign
}

function isAboutTask(operation: Operation): boolean {
  return operation !== 'sendMessage' && operation !== 'streamMessage' && operation !== 'listTasks'
}

/** Frameworks and proxies also answer in JSON, but not with a reason, a code of JSON-RPC or the type of an error. */
function isOfA2A({ error, code, type }: JsonObject): boolean {
  const details = isObject(error) && Array.isArray(error.details) ? error.details : []
  return details.length > 0 || (typeof code === 'number' && code < 0) || typeof type === 'string'
}

/** In a stream the agent tells an error in an event, as the body that it would have been before it. */
function isFailure({ error, code, message }: JsonObject): boolean {
  return isObject(error) || (typeof code === 'number' && typeof message === 'string')
}

function queryOf(query: JsonObject): string {
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]))
  return parameters.size === 0 ? '' : `?${parameters}`
}
