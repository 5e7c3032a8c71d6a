import { A2AError } from '../../protocol/errors.ts'
import type { TaskEvent } from '../../protocol/events.ts'
import type { Claim } from '../../tasks/log.ts'
import { advanceHead, initialHead } from '../../tasks/task-head.ts'
import { type EventBatch, isAnswered, isOver, keepsTaskRow } from '../event-rows.ts'
import { createBackoff, explainTrouble, isCollision, isDisconnected, type PostgresValue } from './connection.ts'
import { array, lines } from './sql-text.ts'

/**
 * So many statements are under way at once. More than one only if their groups are worth it: then the database works on
 * one while the answers to another are dealt with here, and that is why what has waited long is sent in two halves.
 */
const maxFlights = 3

const worthwhile = 16

const maxWrites = 200

const maxBytes = 1024 * 1024

const maxWaiting = 20_000

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
  if (events.every(keepsTaskRow)) return { isOver: false }
  const isSpoken = events.some(({ type }) => type === 'status' || type === 'reply')
  const { phase, dialect, changed } = advanceHead(initialHead(0), events)
  return {
    ...(isSpoken && { phase, changed }),
    statusAt: statusAt(events, after),
    answered: isAnswered(events) === 1,
    dialect,
    isOver: isSpoken && isOver(phase),
  }
}

/** One append or create, as it waits to be sent with others. */
export interface Write {
  readonly taskId: string
  readonly after: number
  readonly batch: EventBatch
  readonly claims?: readonly Claim[]
  /** Marks its events, so that it can be found again if its answer is lost. */
  readonly token: number
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

export interface GroupsOptions<W, A> {
  readonly send: (writes: readonly W[]) => Promise<readonly A[]>
  readonly isStored: (answer: A) => boolean
  /** The answer that a write would have got, if it was stored after all. */
  readonly find: (write: W) => Promise<A | undefined>
  readonly patience: number
  readonly schema: string
  readonly closed: AbortSignal
}

/**
 * Sends writes to the database and gives each its answer.
 *
 * What waits together travels in one statement, because a round trip and a commit take as long for many writes as for
 * one. A write whose answer was lost is sent again as soon as the database is back. That cannot store it twice, because
 * every write says what it expects to find; and if it is refused then, a look shows whether it was stored before.
 */
export interface WriteBatcher<W, A> {
  write(write: W): Promise<A>
  /** Resolves when nothing waits any more. */
  settled(): Promise<void>
}

export function createWriteBatcher<W extends Write, A>(options: GroupsOptions<W, A>): WriteBatcher<W, A> {
  const { send, isStored, find, patience, schema, closed } = options
  let waiting: Queued<W, A>[] = []
  /** What the statements under way touch. */
  const busy = new Set<string>()
  const backoff = createBackoff(closed)
  let flights = 0
  let isScheduled = false
  let isPausing = false
  const settlers: (() => void)[] = []

  function schedule() {
    if (isScheduled || isPausing) return
    isScheduled = true
    process.nextTick(depart) // when all who heard an answer at the same time have said what they want next
  }

  function depart() {
    isScheduled = false
    while (flights === 0 || (flights < maxFlights && waiting.length >= worthwhile)) {
      const isLarge = flights === 0 && waiting.length >= 2 * worthwhile
      const group = takeGroup(isLarge ? Math.min(maxWrites, Math.ceil(waiting.length / 2)) : maxWrites)
      if (group.length === 0) break
      void fly(group)
    }
    if (flights > 0 || waiting.length > 0) return
    for (const settle of settlers.splice(0)) settle()
  }

  /** The oldest that do not touch what another one touches, so that nothing waits for a lock and order is kept. */
  function takeGroup(limit: number): readonly Queued<W, A>[] {
    const group: Queued<W, A>[] = []
    const left: Queued<W, A>[] = []
    const touched = new Set(busy)
    let bytes = 0
    for (const queued of waiting) {
      const isFree = queued.touches.every((key) => !touched.has(key))
      const isFull = group.length === limit || bytes >= maxBytes || (group.length > 0 && queued.isAlone)
      for (const key of queued.touches) touched.add(key)
      if (!isFree || isFull || group[0]?.isAlone) left.push(queued)
      else {
        group.push(queued)
        bytes += queued.bytes
      }
    }
    waiting = left
    return group
  }

  async function fly(group: readonly Queued<W, A>[]): Promise<void> {
    flights++
    for (const { touches } of group) for (const key of touches) busy.add(key)
    try {
      const answers = await send(group.map(({ write }) => write))
      backoff.reset()
      const unsure: Promise<void>[] = []
      for (const [index, queued] of group.entries()) {
        const answer = answers[index] as A
        if (queued.isUnsure && !isStored(answer)) unsure.push(lookFor(queued, answer))
        else queued.resolve(answer)
      }
      if (unsure.length > 0) await Promise.all(unsure)
    } catch (error) {
      await retry(group, error)
    } finally {
      flights--
      for (const { touches } of group) for (const key of touches) busy.delete(key)
      schedule()
    }
  }

  async function lookFor({ write, resolve, reject }: Queued<W, A>, answer: A): Promise<void> {
    await find(write).then((found) => resolve(found ?? answer), reject)
  }

  async function retry(group: readonly Queued<W, A>[], error: unknown): Promise<void> {
    const isLost = isDisconnected(error)
    const now = performance.now()
    const again: Queued<W, A>[] = []
    for (const queued of group) {
      const isHopeful = isLost || isCollision(error)
      if (isLost) queued.isUnsure = true
      // Whatever is wrong with one of them shall not be the others' trouble.
      else if (!isHopeful && group.length > 1 && !queued.isAlone) queued.isAlone = true
      else if (!isHopeful) {
        queued.reject(explainTrouble(error, schema))
        continue
      }
      if (now - queued.since > patience || closed.aborted) queued.reject(explainTrouble(error, schema))
      else again.push(queued)
    }
    waiting = [...again, ...waiting]
    if (!isLost || again.length === 0) return
    isPausing = true
    await backoff.wait()
    isPausing = false
  }

  return {
    write: (write) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= maxWaiting) {
          reject(new A2AError('unavailable', 'More is to be stored than the database takes.', { retryAfter: 5 }))
          return
        }
        const since = performance.now()
        const bytes = write.batch.rows.reduce((sum, { text }) => sum + text.length, 0)
        const { taskId, claims } = write
        const touches = claims ? [taskId, ...claims.map(({ key }) => `claim ${key}`)] : [taskId]
        waiting.push({ write, touches, bytes, since, isUnsure: false, isAlone: false, resolve, reject })
        schedule()
      }),
    settled: () =>
      new Promise((resolve) => {
        settlers.push(resolve)
        schedule()
      }),
  }
}

function statusAt(events: readonly TaskEvent[], after: number): number | undefined {
  const index = events.findLastIndex(({ type }) => type === 'status')
  return index < 0 ? undefined : after + 1 + index
}

interface Queued<W, A> {
  readonly write: W
  readonly touches: readonly string[]
  readonly bytes: number
  readonly since: number
  /** It was sent, and no answer came. */
  isUnsure: boolean
  isAlone: boolean
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}
