import type { Json } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { RestCall, ServerDialect } from '../../dialects/dialect.ts'
import { claimedVersion, type DialectSet, versionNotSupported } from '../../dialects/negotiate.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { eventStream, sseHeaders } from '../../http/sse-writer.ts'
import { A2AError } from '../../protocol/errors.ts'
import { isStream } from '../../protocol/intercept.ts'
import type { Operation, TaskAddress } from '../../protocol/service.ts'
import { namingExtensions, resumePointOf, versionOf, WireCall } from '../server/call.ts'
import { callerError, refusalHeaders } from '../server/errors.ts'
import { openEventStream } from '../server/event-stream.ts'
import { invokeOperation, openStream } from '../server/invoke.ts'
import { limitsOf, type WireOptions } from '../server/options.ts'
import { readOptionalBody } from '../server/read-body.ts'
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
      const result = await invokeOperation(service, { dialect, operation, params, call })
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
    const texts = await openEventStream(events, {
      ...opened,
      dialect,
      wording,
      signal,
      onError,
      incoming,
      heartbeat,
      clock,
    })
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
      const isNoPage =
        asked === 'getExtendedCard' && spoken.rest?.missingCardIsNotFound && told.code === 'unsupported-operation'
      return refusal(told, incoming, spoken, isNoPage ? { status: 404 } : {})
    }
  }
}

export interface RestProposal {
  readonly route: Route
  readonly rest: RestCall
  /** Major.Minor. */
  readonly version: string | undefined
}

/** Notes the dialect in which an error from here on is told. */
type Speak = (dialect: ServerDialect) => ServerDialect

/**
 * The dialect of a REST call: by its version; else by its path, which is below `/v1` in older dialects; where several
 * share a path, by its form, or by what this caller spoke to the task before.
 */
async function chooseDialect(proposal: RestProposal, speaking: DialectSet, recall: Recall): Promise<ServerDialect> {
  const { route, rest, version } = proposal
  const able = speaking.dialects.filter(({ bindings }) => bindings.includes('HTTP+JSON'))
  const asked = claimedVersion(version, speaking)
  const spoken = able.filter((dialect) => (asked === undefined ? isAt(dialect, route) : isOf(dialect, asked)))
  const [first] = spoken
  if (first === undefined) throw versionNotSupported(`A2A ${asked ?? 'of this path'} is not supported here`, speaking)
  if (spoken.length === 1) return first
  // The later has the more particular marks.
  const recognised = spoken.findLast((dialect) => dialect.rest?.recognises(rest))
  if (recognised) return recognised
  const recorded = route.taskId === undefined ? undefined : await recall({ taskId: route.taskId })
  // A call that tells nothing is taken for one of the proto, as most are.
  const proto = spoken.find(({ bindings }) => bindings.includes('GRPC'))
  return spoken.find(({ name }) => name === recorded) ?? proto ?? first
}

type Recall = (address: TaskAddress) => Promise<string | undefined>

/** Before 1.0 the version is in the path. */
function isAt({ version }: ServerDialect, { isLegacy }: Route): boolean {
  return version.startsWith('0.') === isLegacy
}

function isOf({ version, rest }: ServerDialect, asked: string): boolean {
  return version === asked || rest?.olderEqualVersion === asked
}

/** A path of 1.0 is none of an older dialect. The other way round, `/v1` may be a tenant or part of an address. */
function requirePath(dialect: ServerDialect, route: Route): void {
  if (route.isLegacy || isAt(dialect, route)) return
  throw new A2AError('method-not-found', `In A2A ${dialect.version} all paths begin with /v1: this one is of A2A 1.0.`)
}

/** A caller that names plain JSON, and nothing that would take ours, gets that. */
function contentTypeFor(incoming: Incoming, { rest }: ServerDialect): string {
  const own = rest?.contentType ?? 'application/json'
  const accept = incoming.header('accept')
  const wantsPlain = accept?.includes('application/json') && !accept.includes('*/*') && !accept.includes(own)
  return wantsPlain ? 'application/json' : own
}

function wrapped(result: Json, operation: Operation, { rest }: ServerDialect): Json {
  return operation === 'sendMessage' && rest?.wrap && isObject(result) ? rest.wrap(result) : (result ?? {})
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

type Headers = Readonly<Record<string, string>>
