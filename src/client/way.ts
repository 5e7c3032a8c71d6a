import type { RequestOf, ResultOf, StreamOperation, UnaryOperation } from '../dialects/dialect.ts'
import type { Door } from '../dialects/doors.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, Service } from '../protocol/service.ts'
import { type Operations, serviceOf } from '../transports/service-of.ts'
import { factsOf, type Journal } from './journal.ts'
import type { Notify } from './notice.ts'
import { type Failure, isWorthTrying, verdictOn } from './wrong-door.ts'

export interface WayOptions {
  readonly doors: readonly Door[]
  readonly open: (door: Door) => Promise<Service>
  readonly journal: Journal
  readonly notify: Notify
}

export interface Way {
  readonly service: Service
  /** The door that calls go through, once one has proved right. */
  readonly door: () => Door | undefined
}

/**
 * Goes through the first door, and as long as none has proved right, through the next one if it is the wrong one.
 * Nothing is asked twice that way, since nobody was there who would have understood it.
 */
export function findWay({ doors, open, journal, notify }: WayOptions): Way {
  const services = new Map<Door, Service>()
  let taken: Door | undefined

  async function serviceAt(door: Door): Promise<Operations> {
    const service = services.get(door) ?? (await open(door))
    services.set(door, service)
    return operationsOf(service)
  }

  function settle(door: Door, failures: readonly Failure[]): void {
    if (taken) return
    taken = door
    const [first] = failures
    journal.note({ type: 'door', ...factsOf(door), outcome: 'taken', detail: reasons[door.origin] })
    if (!first) return
    const message = `${door.url} (${door.binding}, A2A ${door.dialect.version}) was used instead: ${first.error.message}`
    notify({ type: 'detour', message, hint: `Correct the card: it should name ${door.url} as ${door.binding}.` })
  }

  /** Whether another door is to be tried after this failure; throws if not. */
  function record(failures: Failure[], door: Door, error: unknown, operation: keyof Service): void {
    const verdict = error instanceof A2AError && !taken ? verdictOn(error, operation, door) : undefined
    if (!verdict || !(error instanceof A2AError)) throw error
    journal.note({ type: 'door', ...factsOf(door), outcome: 'failed', detail: error.message })
    failures.push({ door, error, verdict })
  }

  function* untried(failures: readonly Failure[]): Generator<Door> {
    if (taken) return yield taken
    for (const door of doors) if (isWorthTrying(door, failures)) yield door
  }

  async function ask<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
    const failures: Failure[] = []
    for (const door of untried(failures)) {
      try {
        const wire = await serviceAt(door)
        const result = await wire.ask(operation, request, call)
        settle(door, failures)
        return result
      } catch (error) {
        record(failures, door, error, operation)
      }
    }
    throw failures[0]?.error ?? noDoor()
  }

  async function* follow<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    call: Call,
  ): AsyncGenerator<StreamEvent> {
    const failures: Failure[] = []
    for (const door of untried(failures)) {
      try {
        const wire = await serviceAt(door)
        for await (const event of wire.follow(operation, request, call)) {
          settle(door, failures)
          yield event
        }
        return
      } catch (error) {
        record(failures, door, error, operation)
      }
    }
    throw failures[0]?.error ?? noDoor()
  }

  return { service: serviceOf({ ask, follow }), door: () => taken }
}

/** The same as `Service`, seen so that the compiler follows an operation from its request to its result. */
export function operationsOf(service: Service): Operations {
  return {
    ask: (operation, request, call) =>
      (service[operation] as (request: unknown, call: Call) => Promise<never>)(request, call),
    follow: (operation, request, call) =>
      (service[operation] as (request: unknown, call: Call) => AsyncGenerator<StreamEvent>)(request, call),
  }
}

const reasons: Readonly<Record<Door['origin'], string>> = {
  card: '',
  skew: 'the card names another version than the one that is spoken there',
  relative: 'the card names another address, and this one is beside the card',
}

function noDoor(): A2AError {
  return new A2AError('unsupported-operation', 'The card names no way to the agent that this client can go.')
}
