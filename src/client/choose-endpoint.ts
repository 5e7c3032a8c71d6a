import {
  cardRelativeEndpoints,
  type Endpoint,
  type EndpointOptions,
  otherVersionEndpoints,
} from '../dialects/endpoints.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, RequestOf, ResultOf, Service, StreamOperation, UnaryOperation } from '../protocol/service.ts'
import { type Operations, operationsOf } from '../transports/client/operations.ts'
import { type ConnectionTrace, factsOf } from './diagnostics/connection-trace.ts'
import type { Notice, Notify } from './options.ts'

/**
 * What a failure says of the door: no connection comes about, nobody of A2A is behind it, or somebody who speaks
 * another version, or this version in another form. In all cases nobody has begun to work on what was asked.
 */
export type EndpointFailure = 'unreachable' | 'nobody' | 'another-dialect' | 'another-form'

export interface Failure {
  readonly door: Endpoint
  readonly error: A2AError
  readonly verdict: EndpointFailure
}

/** The other ways to an agent, loaded when the one that its card names first has proved wrong. */
export interface FallbackEndpoints {
  /** The failure, if it is the fault of the door; undefined if another one would not help. */
  judge(door: Endpoint, error: A2AError, operation: keyof Service): Failure | undefined
  /** Where to go after this door, whatever has failed before. */
  next(door: Endpoint, failures: readonly Failure[]): Endpoint | undefined
  /** Why a door is right that the card does not name. */
  reasonFor(door: Endpoint): string
  noticeOf(door: Endpoint, instead: Failure): Notice
}

function createFallbacks(card: AgentCard, named: readonly Endpoint[], options: EndpointOptions): FallbackEndpoints {
  const { cardUrl } = options
  const beside = cardUrl === undefined ? [] : cardRelativeEndpoints(named, cardUrl)
  const doors = [...named, ...otherVersionEndpoints(card, named, options), ...beside]
  return {
    judge(door, error, operation) {
      const verdict = classifyFailure(error, operation, door)
      return verdict && { door, error, verdict }
    },
    reasonFor: ({ origin }) => reasons[origin],
    noticeOf,
    next: (door, failures) => doors.slice(doors.indexOf(door) + 1).find((each) => isWorthTrying(each, failures)),
  }
}

export interface WayOptions {
  readonly card: AgentCard
  /** Those that the card names: at least one. */
  readonly doors: readonly [Endpoint, ...Endpoint[]]
  /** By which others are found. */
  readonly options: EndpointOptions
  readonly open: (door: Endpoint) => Promise<Service>
  readonly journal: ConnectionTrace
  readonly notify: Notify
}

export interface EndpointFailover extends Operations {
  /** The door that calls go through, once one has proved right. */
  readonly door: () => Endpoint | undefined
}

/**
 * Goes through the first door, and as long as none has proved right, through the next one if it is the wrong one.
 * Nothing is asked twice that way, since nobody was there who would have understood it.
 */
export function createEndpointFailover({ card, doors, options, open, journal, notify }: WayOptions): EndpointFailover {
  const opened = new Map<Endpoint, Operations>()
  let taken: Endpoint | undefined
  let detours: FallbackEndpoints | undefined

  async function behind(door: Endpoint): Promise<Operations> {
    const known = opened.get(door) ?? operationsOf(await open(door))
    opened.set(door, known)
    return known
  }

  function settle(door: Endpoint, [first]: readonly Failure[]): void {
    if (taken) return
    taken = door
    journal.add({ type: 'door', ...factsOf(door), outcome: 'taken', detail: detours?.reasonFor(door) ?? '' })
    if (first && detours) notify(detours.noticeOf(door, first))
  }

  /** The door after one that has failed; throws why there is none. */
  function after(door: Endpoint, error: unknown, operation: keyof Service, failures: Failure[]): Endpoint {
    if (taken || !(error instanceof A2AError)) throw error
    detours ??= createFallbacks(card, doors, options)
    const failure = detours.judge(door, error, operation)
    if (!failure) throw error
    journal.add({ type: 'door', ...factsOf(door), outcome: 'failed', detail: error.message })
    failures.push(failure)
    const next = detours.next(door, failures)
    if (!next) throw failures[0]?.error ?? error
    return next
  }

  async function ask<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
    const failures: Failure[] = []
    for (let door = taken ?? doors[0]; ; ) {
      try {
        const wire = await behind(door)
        const result = await wire.ask(operation, request, call)
        settle(door, failures)
        return result
      } catch (error) {
        door = after(door, error, operation, failures)
      }
    }
  }

  async function* follow<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    call: Call,
  ): AsyncGenerator<StreamEvent> {
    const failures: Failure[] = []
    for (let door = taken ?? doors[0]; ; ) {
      try {
        const wire = await behind(door)
        for await (const event of wire.follow(operation, request, call)) {
          settle(door, failures)
          yield event
        }
        return
      } catch (error) {
        door = after(door, error, operation, failures)
      }
    }
  }

  return { ask, follow, door: () => taken }
}

function noticeOf({ url, binding, dialect }: Endpoint, { error }: Failure): Notice {
  const message = `${url} (${binding}, A2A ${dialect.version}) was used instead: ${error.message}`
  return { type: 'fallback-endpoint', message, hint: `Correct the card: it should name ${url} as ${binding}.` }
}

/** Undefined if the door is not to blame. */
function classifyFailure(
  { code, reason }: A2AError,
  operation: keyof Service,
  door: Endpoint,
): EndpointFailure | undefined {
  if (reason !== undefined && unreachable.has(reason)) return 'unreachable'
  if (reason === 'wrong-path' || reason === 'html') return 'nobody'
  if (reason !== undefined && isReading(operation) && (reason === 'not-json' || reason === 'not-a2a')) return 'nobody'
  if (reason === 'not-in-dialect') return undefined
  if (code === 'method-not-found' || code === 'version-not-supported') return 'another-dialect'
  // Servers of 0.1 validate the method like any other member.
  if (code === 'invalid-request' && door.binding === 'JSONRPC') return 'another-dialect'
  // Over REST two forms of one version have the same paths, and one takes the objects of the other for wrong params.
  if (code === 'invalid-params' && door.binding === 'HTTP+JSON') return 'another-form'
  if (code === 'invalid-agent-response' && isReading(operation)) return 'another-dialect'
  return undefined
}

const unreachable: ReadonlySet<string> = new Set([
  'connection-refused',
  'name-not-found',
  'host-unreachable',
  'certificate',
  'not-tls',
  'not-http',
  'bad-url',
  'guarded',
])

function isReading(operation: keyof Service): boolean {
  return operation.startsWith('get') || operation.startsWith('list') || operation === 'subscribeToTask'
}

const reasons: Readonly<Record<Endpoint['origin'], string>> = {
  card: '',
  skew: 'the card names another version than the one that is spoken there',
  relative: 'the card names another address, and this one is beside the card',
}

/** What was tried already is not tried again under another name. */
function isWorthTrying(door: Endpoint, failures: readonly Failure[]): boolean {
  if (failures.some((failure) => rulesOut(failure, door))) return false
  switch (door.origin) {
    case 'card':
      return true
    case 'skew':
      return failures.some(({ door: failed, verdict }) => verdict !== 'unreachable' && isSamePlace(failed, door))
    case 'relative':
      return failures.some(({ verdict }) => verdict === 'unreachable' || verdict === 'nobody')
  }
}

function rulesOut({ door: failed, verdict }: Failure, door: Endpoint): boolean {
  switch (verdict) {
    case 'unreachable':
      return new URL(failed.url).origin === new URL(door.url).origin
    case 'nobody':
      // Over REST another dialect has other paths.
      return isSamePlace(failed, door) && door.binding === 'JSONRPC'
    case 'another-dialect':
      return false
    case 'another-form':
      return !isSamePlace(failed, door) || failed.dialect.version !== door.dialect.version
  }
}

function isSamePlace(one: Endpoint, other: Endpoint): boolean {
  return one.binding === other.binding && one.url === other.url
}
