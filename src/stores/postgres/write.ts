import type { TaskEvent } from '../../protocol/events.ts'
import { advance, beginning } from '../../tasks/advance.ts'
import type { Claim } from '../../tasks/log.ts'
import type { EventBatch } from '../event-batch.ts'
import { isAnswered, isOver, leavesStanding } from '../standing.ts'
import type { PostgresValue } from './driver.ts'
import { array, lines } from './text.ts'

/** One append or create, as it waits to be sent with others. */
export interface Write {
  readonly taskId: string
  readonly after: number
  readonly batch: EventBatch
  readonly claims?: readonly Claim[]
  /** Marks its events, so that it can be found again if its answer is lost. */
  readonly token: number
}

export function newToken(): number {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)
}

/** What events change in the row of their task; what they leave as it is, is missing. */
export interface Change {
  readonly phase?: string
  readonly statusAt?: number
  readonly answered?: boolean
  readonly dialect?: string
  readonly changed?: number
  readonly isOver: boolean
}

export function changeBy(events: readonly TaskEvent[], after: number): Change {
  if (events.every(leavesStanding)) return { isOver: false }
  const isSpoken = events.some(({ type }) => type === 'status' || type === 'reply')
  const { phase, dialect, changed } = advance(beginning(0), events)
  return {
    ...(isSpoken && { phase, changed }),
    statusAt: statusAt(events, after),
    answered: isAnswered(events) === 1,
    dialect,
    isOver: isSpoken && isOver(phase),
  }
}

function statusAt(events: readonly TaskEvent[], after: number): number | undefined {
  const index = events.findLastIndex(({ type }) => type === 'status')
  return index < 0 ? undefined : after + 1 + index
}

/** The events of several writes, as the columns `event` and `write` (from 1) of what a statement takes in. */
export function eventColumns(writes: readonly Write[]): [events: string, writes: string] {
  // JSON has no line breaks of its own, so the lines need no quoting.
  const texts = writes.flatMap(({ batch }) => batch.rows.map(({ text }) => text)).join('\n')
  return [texts, array(writes.flatMap(({ batch }, index) => batch.rows.map(() => index + 1)))]
}

export function claimColumns(
  writes: readonly Write[],
): [writes: PostgresValue, keys: PostgresValue, digests: PostgresValue] {
  const wanted = writes.flatMap(({ claims = [] }, index) => claims.map((claim) => ({ ...claim, write: index + 1 })))
  return [
    array(wanted.map(({ write }) => write)),
    lines(wanted.map(({ key }) => key)),
    lines(wanted.map(({ digest }) => digest)),
  ]
}

/** How many events come before those of each write. */
export function skipped(writes: readonly Write[]): readonly number[] {
  let sum = 0
  return writes.map(({ batch }) => {
    sum += batch.events.length
    return sum - batch.events.length
  })
}
