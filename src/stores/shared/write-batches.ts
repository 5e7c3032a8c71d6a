import { defined } from '../../core/base/json.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import type { TaskEvent } from '../../core/protocol/events.ts'
import { advanceHead, initialHead } from '../../core/tasks/fold.ts'
import type { Claim } from '../../core/tasks/log.ts'
import { createBackoff, type StoreErrors } from './database.ts'
import { type EventBatch, isAnswered, isOver, keepsTaskRow } from './event-batches.ts'

/**
 * Maximum number of concurrent statements. More than one is sent only if their batches are large: the database then
 * works on one while this process handles the results of another. For the same reason a long queue is split in halves.
 */
const maxConcurrent = 3

const minBatch = 16

const maxWrites = 200

const maxBytes = 1024 * 1024

const maxWaiting = 20_000

export function newToken(): number {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)
}

/** The columns of a task row that events change. Unchanged ones are undefined. */
export interface TaskRowChange {
  readonly phase?: string
  readonly statusAt?: number
  readonly answered?: boolean
  readonly dialect?: string
  readonly changed?: number
  readonly isOver: boolean
}

export function taskRowChange(events: readonly TaskEvent[], after: number): TaskRowChange {
  if (events.every(keepsTaskRow)) return { isOver: false }
  const hasStatusOrReply = events.some(({ type }) => type === 'status' || type === 'reply')
  const { phase, dialect, changed } = advanceHead(initialHead(0), events)
  return defined({
    phase: hasStatusOrReply ? phase : undefined,
    changed: hasStatusOrReply ? changed : undefined,
    statusAt: statusAt(events, after),
    answered: isAnswered(events) === 1,
    dialect,
    isOver: hasStatusOrReply && isOver(phase),
  })
}

/** An append or create that is sent in a batch. */
export interface Write {
  readonly taskId: string
  readonly after: number
  readonly batch: EventBatch
  readonly claims?: readonly Claim[]
  /** Stored with the events, to find out whether a write without a result was stored. */
  readonly token: number
}

export interface WriteBatcherOptions<W, R> {
  readonly send: (writes: readonly W[]) => Promise<readonly R[]>
  readonly isStored: (result: R) => boolean
  /** The result of a write whose response was lost, if it was stored. */
  readonly find: (write: W) => Promise<R | undefined>
  readonly patience: number
  readonly errors: StoreErrors
  readonly closed: AbortSignal
}

/**
 * Sends writes to the database in batches.
 *
 * Waiting writes share one statement, because a round trip and a commit take as long for many writes as for one. A write
 * whose response was lost is sent again once the database is reachable. That cannot store it twice, because every write
 * names the generation it expects; if the second one is refused, a query shows whether the first one was stored.
 */
export interface WriteBatcher<W, R> {
  write(write: W): Promise<R>
  /** Resolves when no write is waiting. */
  idle(): Promise<void>
}

export function createWriteBatcher<W extends Write, R>(options: WriteBatcherOptions<W, R>): WriteBatcher<W, R> {
  const { send, isStored, find, patience, errors, closed } = options
  let waiting: QueuedWrite<W, R>[] = []
  /** Tasks and claims that running statements write. */
  const busyKeys = new Set<string>()
  const backoff = createBackoff(closed)
  let inFlight = 0
  let isScheduled = false
  let isPausing = false
  const idleListeners: (() => void)[] = []

  function schedule() {
    if (isScheduled || isPausing) return
    isScheduled = true
    process.nextTick(sendWaiting) // after all callers of a finished batch have queued their next write
  }

  function sendWaiting() {
    isScheduled = false
    while (inFlight === 0 || (inFlight < maxConcurrent && waiting.length >= minBatch)) {
      const isLarge = inFlight === 0 && waiting.length >= 2 * minBatch
      const batch = takeBatch(isLarge ? Math.min(maxWrites, Math.ceil(waiting.length / 2)) : maxWrites)
      if (batch.length === 0) break
      void sendBatch(batch)
    }
    if (inFlight > 0 || waiting.length > 0) return
    for (const notify of idleListeners.splice(0)) notify()
  }

  /** The oldest writes that share no task or claim with another one, so that none waits for a lock and order is kept. */
  function takeBatch(limit: number): readonly QueuedWrite<W, R>[] {
    const batch: QueuedWrite<W, R>[] = []
    const rest: QueuedWrite<W, R>[] = []
    const takenKeys = new Set(busyKeys)
    let bytes = 0
    for (const queued of waiting) {
      const isFree = queued.keys.every((key) => !takenKeys.has(key))
      const isFull = batch.length === limit || bytes >= maxBytes || (batch.length > 0 && queued.mustBeAlone)
      for (const key of queued.keys) takenKeys.add(key)
      if (!isFree || isFull || batch[0]?.mustBeAlone) rest.push(queued)
      else {
        batch.push(queued)
        bytes += queued.bytes
      }
    }
    waiting = rest
    return batch
  }

  async function sendBatch(batch: readonly QueuedWrite<W, R>[]): Promise<void> {
    inFlight++
    for (const { keys } of batch) for (const key of keys) busyKeys.add(key)
    try {
      const results = await send(batch.map(({ write }) => write))
      backoff.reset()
      const confirmations: Promise<void>[] = []
      for (const [index, queued] of batch.entries()) {
        const result = results[index] as R
        if (queued.mayBeStored && !isStored(result)) confirmations.push(confirm(queued, result))
        else queued.resolve(result)
      }
      if (confirmations.length > 0) await Promise.all(confirmations)
    } catch (error) {
      await retry(batch, error)
    } finally {
      inFlight--
      for (const { keys } of batch) for (const key of keys) busyKeys.delete(key)
      schedule()
    }
  }

  /** Resolves a refused write whose earlier response was lost: it may have been stored then. */
  async function confirm({ write, resolve, reject }: QueuedWrite<W, R>, refusal: R): Promise<void> {
    await find(write).then((stored) => resolve(stored ?? refusal), reject)
  }

  async function retry(batch: readonly QueuedWrite<W, R>[], error: unknown): Promise<void> {
    const isLost = errors.isDisconnected(error)
    const isRetryable = isLost || errors.isConflict(error)
    const now = performance.now()
    const retried: QueuedWrite<W, R>[] = []
    for (const queued of batch) {
      if (isLost) queued.mayBeStored = true
      // The write that caused the error must not fail the others: each is sent again alone.
      else if (!isRetryable && batch.length > 1 && !queued.mustBeAlone) queued.mustBeAlone = true
      else if (!isRetryable) {
        queued.reject(errors.explain(error))
        continue
      }
      if (now - queued.queuedAt > patience || closed.aborted) queued.reject(errors.explain(error))
      else retried.push(queued)
    }
    waiting = [...retried, ...waiting]
    if (!isLost || retried.length === 0) return
    isPausing = true
    await backoff.wait()
    isPausing = false
  }

  return {
    write: (write) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= maxWaiting) {
          const message = 'The database cannot keep up: too many writes are waiting.'
          reject(new A2AError('unavailable', message, { retryAfter: 5 }))
          return
        }
        waiting.push(queue(write, resolve, reject))
        schedule()
      }),
    idle: () =>
      new Promise((resolve) => {
        idleListeners.push(resolve)
        schedule()
      }),
  }
}

function statusAt(events: readonly TaskEvent[], after: number): number | undefined {
  const index = events.findLastIndex(({ type }) => type === 'status')
  return index < 0 ? undefined : after + 1 + index
}

function queue<W extends Write, R>(
  write: W,
  resolve: (result: R) => void,
  reject: (error: unknown) => void,
): QueuedWrite<W, R> {
  const queuedAt = performance.now()
  const bytes = write.batch.rows.reduce((sum, { text }) => sum + text.length, 0)
  const { taskId, claims } = write
  const keys = claims ? [taskId, ...claims.map(({ key }) => `claim ${key}`)] : [taskId]
  return { write, keys, bytes, queuedAt, mayBeStored: false, mustBeAlone: false, resolve, reject }
}

interface QueuedWrite<W, R> {
  readonly write: W
  /** The task and the claims that it writes. */
  readonly keys: readonly string[]
  readonly bytes: number
  readonly queuedAt: number
  /** Whether the write was sent before and its response was lost. */
  mayBeStored: boolean
  mustBeAlone: boolean
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}
