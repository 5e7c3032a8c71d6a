import type { RestPlace } from '../../dialects/dialect.ts'
import { isObject } from '../../dialects/is-object.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Service } from '../../protocol/service.ts'
import type { WireClientOptions } from '../client-options.ts'
import { failures } from '../on-failure.ts'
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
    async resultIn(answer, operation) {
      const { status, body, form } = answer
      if (status >= 200 && status < 300 && (form === 'json' || form === 'empty')) return body ?? {}
      throw await (await failures()).readRefusal(answer, operation, dialect)
    },
    async eventIn(data, isError) {
      if (!isObject(data) || !(isError || isFailure(data))) return data
      throw await (await failures()).readToldRefusal(data, dialect)
    },
  }
  return createWireClient(options, speech)
}

/** An event that tells an error has the body that the error would have been before the stream. */
function isFailure({ error, code, message }: JsonObject): boolean {
  return isObject(error) || (typeof code === 'number' && typeof message === 'string')
}

function queryOf(query: JsonObject): string {
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]))
  return parameters.size === 0 ? '' : `?${parameters}`
}
