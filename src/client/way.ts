import type { RequestOf, ResultOf, StreamOperation, UnaryOperation } from '../dialects/dialect.ts'
import type { Door, DoorsOptions } from '../dialects/doors.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, Service } from '../protocol/service.ts'
import { type Operations, serviceOf } from '../transports/service-of.ts'
import type { Detours } from './detours.ts'
import { factsOf, type Journal } from './journal.ts'
import type { Notify } from './notice.ts'
import type { Failure } from './wrong-door.ts'

export interface WayOptions {
  readonly card: AgentCard
  /** Those that the card names: at least one. */
  readonly doors: readonly [Door, ...Door[]]
  /** By which others are found. */
  readonly options: DoorsOptions
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
export function findWay({ card, doors, options, open, journal, notify }: WayOptions): Way {
  const services = new Map<Door, Service>()
  let taken: Door | undefined
  let detours: Detours | undefined

  async function serviceAt(door: Door): Promise<Operations> {
    const service = services.get(door) ?? (await open(door))
    services.set(door, service)
    return operationsOf(service)
  }

  function settle(door: Door, [first]: readonly Failure[]): void {
    if (taken) return
    taken = door
    journal.note({ type: 'door', ...factsOf(door), outcome: 'taken', detail: detours?.reasonFor(door) ?? '' })
    if (first && detours) notify(detours.noticeOf(door, first))
  }

  /** The door after one that has failed; throws why there is none. */
  async function after(door: Door, error: unknown, operation: keyof Service, failures: Failure[]): Promise<Door> {
    if (taken || !(error instanceof A2AError)) throw error
    const loaded = await import('./detours.ts').catch(() => undefined)
    detours ??= loaded?.createDetours(card, doors, options)
    const failure = detours?.judge(door, error, operation)
    if (!detours || !failure) throw error
    journal.note({ type: 'door', ...factsOf(door), outcome: 'failed', detail: error.message })
    failures.push(failure)
    const next = detours.next(door, failures)
    if (!next) throw failures[0]?.error ?? error
    return next
  }

  async function ask<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
    const failures: Failure[] = []
    for (let door = taken ?? doors[0]; ; ) {
      try {
        const wire = await serviceAt(door)
        const result = await wire.ask(operation, request, call)
        settle(door, failures)
        return result
      } catch (error) {
        door = await after(door, error, operation, failures)
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
        const wire = await serviceAt(door)
        for await (const event of wire.follow(operation, request, call)) {
          settle(door, failures)
          yield event
        }
        return
      } catch (error) {
        door = await after(door, error, operation, failures)
      }
    }
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
