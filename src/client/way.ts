import type { RequestOf, ResultOf, StreamOperation, UnaryOperation } from '../dialects/dialect.ts'
import type { Door, DoorsOptions } from '../dialects/doors.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, Service } from '../protocol/service.ts'
import { type Operations, operationsOf } from '../transports/service-of.ts'
import type { Detours } from './detours.ts'
import { factsOf, type Journal } from './journal.ts'
import type { Notify } from './notice.ts'
import { onTrouble } from './on-trouble.ts'
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

export interface Way extends Operations {
  /** The door that calls go through, once one has proved right. */
  readonly door: () => Door | undefined
}

/**
 * Goes through the first door, and as long as none has proved right, through the next one if it is the wrong one.
 * Nothing is asked twice that way, since nobody was there who would have understood it.
 */
export function findWay({ card, doors, options, open, journal, notify }: WayOptions): Way {
  const opened = new Map<Door, Operations>()
  let taken: Door | undefined
  let detours: Detours | undefined

  async function behind(door: Door): Promise<Operations> {
    const known = opened.get(door) ?? operationsOf(await open(door))
    opened.set(door, known)
    return known
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
    detours ??= (await onTrouble())?.createDetours(card, doors, options)
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
        const wire = await behind(door)
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
        const wire = await behind(door)
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

  return { ask, follow, door: () => taken }
}
