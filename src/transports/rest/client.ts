import type { RestPlace } from '../../dialects/dialect.ts'
import { isObject } from '../../dialects/is-object.ts'
import { A2AError } from '../../protocol/errors.ts'
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

  function composedAt(base: string, method: RestPlace['method'], place: RestPlace): Composed {
    const { path, query = {}, body = {} } = place
    return {
      url: `${base}${path}${queryOf(query)}`,
      method,
      contentType,
      ...(method === 'POST' && { body }),
      confirm() {
        bases = [base]
        if (path.endsWith(':subscribe')) subscribeBy = [method]
      },
    }
  }

  const speech: Speech = {
    binding: 'HTTP+JSON',
    has: () => true,
    compose(operation, wire) {
      const place = rest.place(operation, wire)
      const methods = operation === 'subscribeToTask' ? subscribeBy : [place.method]
      return bases.flatMap((base) => methods.map((method) => composedAt(base, method, place)))
    },
    resultIn(answer, operation) {
      const { status, body, form } = answer
      if (status >= 200 && status < 300 && (form === 'json' || form === 'empty')) return body ?? {}
      if (!isObject(body)) throw foreignAnswer(answer)
      const told = toldError(dialect.decodeHttpError({ status, body }), answer)
      throw isOfA2A(body) ? told : suspicion(answer, operation, told)
    },
    eventIn(data, isError) {
      if (isObject(data) && (isError || isFailure(data))) throw dialect.decodeHttpError({ status: 500, body: data })
      return data
    },
  }
  return createWireClient(options, speech)
}

/** A path that does not exist, and a task that does not, may be told in the same words. */
function suspicion(answer: Answer, operation: Operation, told: A2AError): A2AError {
  const foreign = foreignAnswer(answer)
  if (foreign.reason !== 'wrong-path' || answer.status !== 404 || !isAboutTask(operation)) return foreign
  const { url, status, reason } = foreign
  return new A2AError('task-not-found', told.message, { cause: told.cause, url, status, reason })
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
