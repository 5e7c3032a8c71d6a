import { isStream, type RestCall, type ServerDialect } from '../../dialects/dialect.ts'
import { isObject } from '../../dialects/is-object.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { eventStream, sseHeaders } from '../../http/sse.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Json } from '../../protocol/model.ts'
import type { Operation } from '../../protocol/service.ts'
import { callerError } from '../caller-error.ts'
import { openTexts } from '../event-texts.ts'
import { openStream, operate } from '../operate.ts'
import { limitsOf, type WireOptions } from '../options.ts'
import { readOptionalBody } from '../read-body.ts'
import { refusalHeaders } from '../refusal-headers.ts'
import { namingExtensions, resumePointOf, versionOf } from '../service-parameters.ts'
import { WireCall } from '../wire-call.ts'
import { chooseDialect, isAt, requirePath } from './choose-dialect.ts'
import { matchRoute, type Route } from './routes.ts'

/** Answers a request of the REST binding; undefined if its path is none of it. What goes wrong is an answer, too. */
export type Rest = (incoming: Incoming) => Promise<Outgoing | undefined>

export function createRest(options: WireOptions): Rest {
  const { service, principalOf, recall, onError, dialects } = options
  const limits = limitsOf(options)

  async function answer(route: Route, incoming: Incoming, speak: Speak): Promise<Outgoing> {
    const known = principalOf(incoming)
    const principal = known instanceof Promise ? await known : known
    const body = incoming.method === 'POST' ? await readOptionalBody(incoming, limits) : undefined
    const rest: RestCall = { ...route, query: Object.fromEntries(new URLSearchParams(incoming.query)), body }
    const proposal = { route, rest, version: versionOf(incoming) }
    const dialect = speak(await chooseDialect(proposal, options, (address) => recall(address, principal)))
    requirePath(dialect, route)
    const { operation } = route
    const call = new WireCall(incoming, principal, options)
    const params = dialect.rest?.params(rest)

    if (!isStream(operation)) {
      const result = await operate(service, { dialect, operation, params, call })
      const headers = namingExtensions({ 'content-type': contentTypeFor(incoming, dialect) }, call, dialect)
      return { status: 200, headers, body: JSON.stringify(wrapped(result, operation, dialect)) }
    }
    const received = { dialect, operation, params, call }
    const { signal } = incoming
    const { cancelsOnDisconnect } = dialect.rest ?? {}
    const reading = { after: resumePointOf(incoming), ...(cancelsOnDisconnect && { cancelOnDisconnect: true }) }
    const { events, ...opened } = openStream(service, received, reading)
    const wording = {
      before: '',
      after: '',
      rewrite: dialect.rest?.wrap,
      failure: (error: A2AError) => JSON.stringify(dialect.encodeHttpError(error).body),
    }
    const { heartbeat, clock } = limits
    const texts = await openTexts(events, { ...opened, dialect, wording, signal, onError, incoming, heartbeat, clock })
    const headers = namingExtensions(sseHeaders, call, dialect)
    return { status: 200, headers, body: eventStream(texts, { heartbeat, signal, timers: clock }) }
  }

  return async (incoming) => {
    const { method, path } = incoming
    let spoken: ServerDialect = dialects[0]
    let asked: Operation | undefined
    const speak = (dialect: ServerDialect) => {
      spoken = dialect
      return dialect
    }
    try {
      const match = matchRoute(method, path)
      if (!match) return undefined
      if ('operation' in match) {
        asked = match.operation
        // Until it is chosen, errors are told as most callers at this path expect them.
        speak(dialects.find((dialect) => dialect.rest && isAt(dialect, match)) ?? dialects[0])
        return await answer(match, incoming, speak)
      }
      const wrong = new A2AError('method-not-found', `This path takes ${match.allow}, not ${method}.`)
      return refusal(wrong, incoming, spoken, { status: 405, headers: { allow: match.allow } })
    } catch (error) {
      const told = callerError(error, { signal: incoming.signal, onError, incoming })
      const isNoPage = asked === 'getExtendedCard' && spoken.rest?.cardIsPage && told.code === 'unsupported-operation'
      return refusal(told, incoming, spoken, isNoPage ? { status: 404 } : {})
    }
  }
}

type Headers = Readonly<Record<string, string>>

/** Notes the dialect in which an error from here on is told. */
type Speak = (dialect: ServerDialect) => ServerDialect

function wrapped(result: Json, operation: Operation, { rest }: ServerDialect): Json {
  return operation === 'sendMessage' && rest?.wrap && isObject(result) ? rest.wrap(result) : (result ?? {})
}

/** A caller that names plain JSON, and nothing that would take ours, gets that. */
function contentTypeFor(incoming: Incoming, { rest }: ServerDialect): string {
  const own = rest?.contentType ?? 'application/json'
  const accept = incoming.header('accept')
  const wantsPlain = accept?.includes('application/json') && !accept.includes('*/*') && !accept.includes(own)
  return wantsPlain ? 'application/json' : own
}

function refusal(
  error: A2AError,
  incoming: Incoming,
  dialect: ServerDialect,
  { status: told, headers: more }: { readonly status?: number; readonly headers?: Headers } = {},
): Outgoing {
  const { status, body } = dialect.encodeHttpError(error)
  const headers = { 'content-type': contentTypeFor(incoming, dialect), ...refusalHeaders(error), ...more }
  const { error: inner } = body
  const renumbered = told && isObject(inner) ? { ...body, error: { ...inner, code: told } } : body
  return { status: told ?? status, headers, body: JSON.stringify(renumbered) }
}
