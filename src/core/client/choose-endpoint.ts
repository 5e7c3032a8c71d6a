import {
  cardRelativeEndpoints,
  type Endpoint,
  type EndpointOptions,
  otherVersionEndpoints,
} from '../dialects/endpoints.ts'
import { neverConnected } from '../http/network-failure.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError, withContext } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { callStream, callUnary, createService } from '../protocol/intercept.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  Service,
  StreamOperation,
  UnaryOperation,
} from '../protocol/service.ts'
import { type ConnectionTrace, endpointInfo } from './diagnostics/connection-trace.ts'
import type { Notice, Notify } from './options.ts'

export interface FailoverOptions {
  readonly card: AgentCard
  /** The endpoints that the card names: at least one. */
  readonly endpoints: readonly [Endpoint, ...Endpoint[]]
  /** The options by which the endpoints that the card does not name are found. */
  readonly endpointOptions: EndpointOptions
  /** Whether the card was verified: then only the endpoints that it names are called. */
  readonly isVerified: boolean
  readonly open: (endpoint: Endpoint) => Promise<Service>
  readonly trace: ConnectionTrace
  readonly notify: Notify
}

export interface EndpointFailover {
  readonly service: Service
  /** The endpoint of all calls, once one has worked. */
  readonly endpoint: () => Endpoint | undefined
}

/**
 * A service that calls the first endpoint, and until one has worked, the next one if the endpoint is at fault. No call
 * runs twice that way: an endpoint is at fault only if nothing behind it has begun to work on the call.
 */
export function createEndpointFailover(options: FailoverOptions): EndpointFailover {
  const { endpoints, open, trace, notify } = options
  const services = new Map<Endpoint, Service>()
  let working: Endpoint | undefined
  let candidates: readonly Endpoint[] | undefined

  async function serviceAt(endpoint: Endpoint): Promise<Service> {
    const service = services.get(endpoint) ?? (await open(endpoint))
    services.set(endpoint, service)
    return service
  }

  function settle(endpoint: Endpoint, [first]: readonly EndpointFailure[]): void {
    if (working) return
    working = endpoint
    trace.add({ type: 'endpoint', ...endpointInfo(endpoint), outcome: 'taken', detail: originTexts[endpoint.origin] })
    if (first) notify(fallbackNotice(endpoint, first))
  }

  /** The endpoint to try after one that has failed; throws the error if there is none. */
  function nextAfter(endpoint: Endpoint, error: unknown, operation: Operation, failures: EndpointFailure[]): Endpoint {
    if (!(error instanceof A2AError)) throw error
    if (working) throw explainMissing(operation, error, endpoint)
    const kind = classifyFailure(error, operation, endpoint)
    if (!kind) throw explainList(operation, error.reason === 'not-in-dialect' ? (failures[0]?.error ?? error) : error)
    trace.add({ type: 'endpoint', ...endpointInfo(endpoint), outcome: 'failed', detail: error.message })
    failures.push({ endpoint, error, kind })
    candidates ??= candidatesOf(options)
    const later = candidates.slice(candidates.indexOf(endpoint) + 1)
    const next = later.find((candidate) => isWorthTrying(candidate, failures))
    if (!next) throw explainList(operation, failures[0]?.error ?? error)
    return next
  }

  async function unary<O extends UnaryOperation>(
    operation: O,
    request: RequestOf<O>,
    call: Call,
  ): Promise<ResultOf<O>> {
    const failures: EndpointFailure[] = []
    for (let endpoint = working ?? endpoints[0]; ; ) {
      try {
        const result = await callUnary(await serviceAt(endpoint), operation, request, call)
        settle(endpoint, failures)
        return result
      } catch (error) {
        endpoint = nextAfter(endpoint, error, operation, failures)
      }
    }
  }

  async function* stream<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    call: Call,
  ): AsyncGenerator<StreamEvent> {
    const failures: EndpointFailure[] = []
    for (let endpoint = working ?? endpoints[0]; ; ) {
      try {
        for await (const event of callStream(await serviceAt(endpoint), operation, request, call)) {
          settle(endpoint, failures)
          yield event
        }
        return
      } catch (error) {
        endpoint = nextAfter(endpoint, error, operation, failures)
      }
    }
  }

  return { service: createService({ unary, stream }), endpoint: () => working }
}

/** Versions before 1.0 have no method to list tasks, although some of their agents do. */
function explainList(operation: Operation, error: A2AError): A2AError {
  const isMissing = missingCodes.has(error.code) || error.reason === 'not-in-dialect'
  if (operation !== 'listTasks' || !isMissing || !error.dialect?.startsWith('v0.')) return error
  return notOffered(error, 'a list of tasks', 'no-list')
}

function notOffered(error: A2AError, name: string, reason: string): A2AError {
  const answer = error.reason === 'not-in-dialect' ? error.message : `It answered: ${error.message}`
  const message = `The agent does not offer ${name}. ${answer}`
  return withContext(error, { code: 'unsupported-operation', message, reason, violations: [] })
}

/**
 * An agent that answers other calls at its endpoint does not have this operation. Servers of the Python SDK validate the
 * method like any other member, or fail.
 */
function explainMissing(operation: Operation, error: A2AError, { binding }: Endpoint): A2AError {
  if (operation === 'listTasks') return explainList(operation, error)
  const name = optionalOperations.get(operation)
  const isUnknownMethod =
    error.code === 'method-not-found' ||
    (error.code === 'invalid-request' && binding === 'JSONRPC') ||
    /NotImplementedError|method not implemented/i.test(error.message)
  return name !== undefined && isUnknownMethod ? notOffered(error, name, 'not-offered') : error
}

/** Codes by which agents report a method that they do not have. */
const missingCodes: ReadonlySet<A2AError['code']> = new Set([
  ...(['method-not-found', 'invalid-request', 'unsupported-operation', 'internal'] as const),
])

/** The operations that agents may lack, as an error names them. */
const optionalOperations: ReadonlyMap<Operation, string> = new Map([
  ['subscribeToTask', 'subscriptions to tasks'],
  ['createPushConfig', 'webhooks'],
  ['getPushConfig', 'to read a webhook'],
  ['listPushConfigs', 'a list of webhooks'],
  ['deletePushConfig', 'to delete a webhook'],
  ['getExtendedCard', 'an extended card'],
])

/** All endpoints, in the order in which they are tried. */
function candidatesOf({ card, endpoints, endpointOptions, isVerified }: FailoverOptions): readonly Endpoint[] {
  const { cardUrl } = endpointOptions
  // The server that delivered a signed card need not be one that the card names.
  const relative = cardUrl === undefined || isVerified ? [] : cardRelativeEndpoints(endpoints, cardUrl)
  return [...endpoints, ...otherVersionEndpoints(card, endpoints, endpointOptions), ...relative]
}

const originTexts: Readonly<Record<Endpoint['origin'], string>> = {
  card: '',
  'other-version': 'the card names another version than the one that is spoken there',
  'card-relative': 'the card names another address, and this one is beside the card',
}

function fallbackNotice({ url, binding, dialect }: Endpoint, { error }: EndpointFailure): Notice {
  const message = `${url} (${binding}, A2A ${dialect.version}) was used instead: ${error.message}`
  return { type: 'fallback-endpoint', message, hint: `Correct the card: it should name ${url} as ${binding}.` }
}

interface EndpointFailure {
  readonly endpoint: Endpoint
  readonly error: A2AError
  readonly kind: FailureKind
}

/**
 * Why an endpoint is at fault: there is no connection, no A2A server answers, or the server speaks another version, or
 * another form of this version.
 */
type FailureKind = 'unreachable' | 'not-a2a' | 'other-dialect' | 'other-form'

/** Undefined if the endpoint is not at fault. */
function classifyFailure(
  { code, reason }: A2AError,
  operation: Operation,
  { binding }: Endpoint,
): FailureKind | undefined {
  // A certificate that is not trusted may mean an attack, so the message goes nowhere else either.
  if (reason === 'certificate') return undefined
  if (reason !== undefined && unreachable.has(reason)) return 'unreachable'
  if (reason === 'wrong-path' || reason === 'html') return 'not-a2a'
  if (isRead(operation) && (reason === 'not-json' || reason === 'not-a2a')) return 'not-a2a'
  if (reason === 'not-in-dialect') return undefined
  if (code === 'method-not-found' || code === 'version-not-supported') return 'other-dialect'
  // 0.1 servers validate the method like any other member.
  if (code === 'invalid-request' && binding === 'JSONRPC') return 'other-dialect'
  // Over REST, two forms of one version share their paths, and each rejects the objects of the other as invalid.
  if (code === 'invalid-params' && binding === 'HTTP+JSON') return 'other-form'
  if (code === 'invalid-agent-response' && isRead(operation)) return 'other-dialect'
  return undefined
}

const unreachable: ReadonlySet<string> = new Set([...neverConnected, 'not-tls', 'not-http', 'bad-url', 'guarded'])

function isRead(operation: Operation): boolean {
  return operation.startsWith('get') || operation.startsWith('list') || operation === 'subscribeToTask'
}

/** Whether the earlier failures leave a chance that the endpoint works. */
function isWorthTrying(endpoint: Endpoint, failures: readonly EndpointFailure[]): boolean {
  if (failures.some((failure) => rulesOut(failure, endpoint))) return false
  switch (endpoint.origin) {
    case 'card':
      return true
    case 'other-version':
      return failures.some(({ endpoint: failed, kind }) => kind !== 'unreachable' && isSameAddress(failed, endpoint))
    case 'card-relative':
      // A server that should speak TLS and does not may be an attack, like an untrusted certificate.
      if (failures.some(({ error }) => error.reason === 'not-tls')) return false
      return failures.some(({ kind }) => kind === 'unreachable' || kind === 'not-a2a')
  }
}

function rulesOut({ endpoint: failed, kind }: EndpointFailure, endpoint: Endpoint): boolean {
  switch (kind) {
    case 'unreachable':
      return new URL(failed.url).origin === new URL(endpoint.url).origin
    case 'not-a2a':
      // Over REST another dialect has other paths.
      return isSameAddress(failed, endpoint) && endpoint.binding === 'JSONRPC'
    case 'other-dialect':
      return false
    case 'other-form':
      return !isSameAddress(failed, endpoint) || failed.dialect.version !== endpoint.dialect.version
  }
}

function isSameAddress(one: Endpoint, other: Endpoint): boolean {
  return one.binding === other.binding && one.url === other.url
}
