import { defined, isObject, type Json } from '../../base/json.ts'
import type { HttpError, RestCall, ServerDialect } from '../../dialects/dialect.ts'
import { adaptHttpError } from '../../dialects/java-errors.ts'
import { claimedVersion, type DialectSet, versionNotSupported } from '../../dialects/negotiate.ts'
import { matchRoute, type Route } from '../../dialects/rest-routes.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { A2AError } from '../../protocol/errors.ts'
import { isStream } from '../../protocol/intercept.ts'
import type { Operation, TaskAddress } from '../../protocol/service.ts'
import {
  errorHeaders,
  invokeForText,
  readOptionalBody,
  readResumePoint,
  readVersion,
  toCallerError,
  WireCall,
  type WireRequest,
  withDialectHeaders,
} from '../server/call.ts'
import { createVariantChoice } from '../server/caller-dialect.ts'
import { answerStream, type Framing } from '../server/event-stream.ts'
import { type WireOptions, withWireDefaults } from '../server/options.ts'

/** Answers a request of the REST binding. Undefined if the path is not part of it. It never throws. */
export type RestHandler = (incoming: Incoming) => Promise<Outgoing | undefined>

export function createRest(options: WireOptions): RestHandler {
  const { service, authenticate, lastDialect, onError, onRejected, dialects } = options
  const settings = withWireDefaults(options)
  const chooseVariant = createVariantChoice()

  return async (incoming) => {
    const { method, path } = incoming
    /** The dialect of an error. Until it is negotiated, the one that most callers of the path use. */
    let dialect: ServerDialect = dialects[0]
    let operation: Operation | undefined
    try {
      const match = matchRoute(method, path)
      if (!match) return undefined
      if (!('operation' in match)) {
        const error = new A2AError('method-not-found', `This path takes ${match.allow}, not ${method}.`)
        return errorAnswer(error, incoming, dialect, { status: 405, headers: { allow: match.allow } })
      }
      operation = match.operation
      dialect = dialects.find((candidate) => hasPathOf(candidate, match)) ?? dialects[0]
      const authenticated = authenticate(incoming)
      const principal = authenticated instanceof Promise ? await authenticated : authenticated
      const body = method === 'POST' ? await readOptionalBody(incoming, settings) : undefined
      const rest: RestCall = { ...match, query: Object.fromEntries(new URLSearchParams(incoming.query)), body }
      const features = { route: match, rest, version: readVersion(incoming) }
      dialect = await negotiate(features, options, (address) => lastDialect(address, principal))
      requireOwnPath(dialect, match)
      const call = new WireCall(incoming, principal, options)
      const params = dialect.rest?.params(rest)
      dialect = chooseVariant(dialect, params, incoming, principal)
      return await answer({ dialect, operation, params, call }, incoming)
    } catch (error) {
      const failure = toCallerError(error, { incoming, onError, onRejected, operation })
      const isMissingCard = operation === 'getExtendedCard' && failure.code === 'unsupported-operation'
      const status = isMissingCard && dialect.rest?.missingCardIsNotFound ? 404 : undefined
      return errorAnswer(failure, incoming, dialect, { status })
    }
  }

  async function answer(wireRequest: WireRequest<Operation>, incoming: Incoming): Promise<Outgoing> {
    const { dialect, operation, params, call } = wireRequest
    if (!isStream(operation)) {
      const body = await invokeForText(
        service,
        { dialect, operation, params, call },
        { target: { incoming, principal: call.principal }, wrap: (result) => wrapResult(result, operation, dialect) },
      )
      const headers = withDialectHeaders({ 'content-type': contentTypeFor(incoming, dialect) }, call, dialect)
      return { status: 200, headers, body }
    }
    const { heartbeat, clock } = settings
    return await answerStream(
      service,
      { dialect, operation, params, call },
      {
        incoming,
        onError,
        after: readResumePoint(incoming),
        ...defined({
          cancelOnDisconnect: dialect.rest?.cancelsOnDisconnect ? true : undefined,
          traceMetadata: dialect.rest?.hasTraceMetadata && call.trace ? true : undefined,
        }),
        framing: framingFor(dialect, incoming),
        heartbeat,
        clock,
      },
    )
  }
}

interface RestFeatures {
  readonly route: Route
  readonly rest: RestCall
  /** Major.Minor. */
  readonly version: string | undefined
}

/**
 * The dialect of a REST call: by its version; else by its path, which is below `/v1` in older dialects; if several
 * dialects share the path, by the form of the call, or by the dialect in which this caller last wrote to the task.
 */
async function negotiate(
  { route, rest, version }: RestFeatures,
  dialectSet: DialectSet,
  lastDialect: (address: TaskAddress) => Promise<string | undefined>,
): Promise<ServerDialect> {
  const claimed = claimedVersion(version, dialectSet)
  const candidates = dialectSet.dialects
    .filter(({ bindings }) => bindings.includes('HTTP+JSON'))
    .filter((dialect) => (claimed === undefined ? hasPathOf(dialect, route) : hasVersion(dialect, claimed)))
  const [first] = candidates
  if (first === undefined)
    throw versionNotSupported(`A2A ${claimed ?? 'of this path'} is not supported here`, dialectSet)
  if (candidates.length === 1) return first
  // Later dialects are recognised by more specific features.
  const recognised = candidates.findLast((dialect) => dialect.rest?.recognises(rest))
  if (recognised) return recognised
  const last = route.taskId === undefined ? undefined : await lastDialect({ taskId: route.taskId })
  // A call without features is taken for one of the proto dialect, as most are.
  const proto = candidates.find(({ bindings }) => bindings.includes('GRPC'))
  return candidates.find(({ name }) => name === last) ?? proto ?? first
}

function hasPathOf({ rest }: ServerDialect, { prefix }: Route): boolean {
  return rest?.prefix === prefix
}

function hasVersion({ version, rest }: ServerDialect, claimed: string): boolean {
  return version === claimed || rest?.olderEqualVersion === claimed
}

/** Older dialects do not have the paths of 1.0. Calls of 1.0 may be below `/v1`, which can be a tenant or a mount. */
function requireOwnPath(dialect: ServerDialect, route: Route): void {
  if (route.prefix !== '' || hasPathOf(dialect, route)) return
  const prefix = dialect.rest?.prefix
  throw new A2AError(
    'method-not-found',
    `In A2A ${dialect.version} all paths begin with ${prefix}: this one is of A2A 1.0.`,
  )
}

/** A caller that accepts plain JSON, and not the media type of the dialect, gets plain JSON. */
function contentTypeFor(incoming: Incoming, { rest }: ServerDialect): string {
  const contentType = rest?.contentType ?? 'application/json'
  const accept = incoming.header('accept')
  const wantsJson = accept?.includes('application/json') && !accept.includes('*/*') && !accept.includes(contentType)
  return wantsJson ? 'application/json' : contentType
}

function wrapResult(result: Json, operation: Operation, { rest }: ServerDialect): Json {
  return operation === 'sendMessage' && rest?.wrap && isObject(result) ? rest.wrap(result) : (result ?? {})
}

function framingFor(dialect: ServerDialect, incoming: Incoming): Framing {
  return {
    before: '',
    after: '',
    rewrite: dialect.rest?.wrap,
    failure: (error) => JSON.stringify(encodeErrorFor(incoming, dialect, error).body),
  }
}

function encodeErrorFor(incoming: Incoming, dialect: ServerDialect, error: A2AError): HttpError {
  const caller = { userAgent: incoming.header('user-agent') ?? '', version: readVersion(incoming) }
  return adaptHttpError(dialect.encodeHttpError(error), error, caller, dialect)
}

interface AnswerOverrides {
  /** Replaces the status of the error, also in the body. */
  readonly status?: number | undefined
  readonly headers?: Readonly<Record<string, string>>
}

function errorAnswer(
  error: A2AError,
  incoming: Incoming,
  dialect: ServerDialect,
  { status, headers }: AnswerOverrides,
): Outgoing {
  const encoded = encodeErrorFor(incoming, dialect, error)
  const inner = encoded.body.error
  const body = status && isObject(inner) ? { ...encoded.body, error: { ...inner, code: status } } : encoded.body
  return {
    status: status ?? encoded.status,
    headers: { 'content-type': contentTypeFor(incoming, dialect), ...errorHeaders(error), ...headers },
    body: JSON.stringify(body),
  }
}
