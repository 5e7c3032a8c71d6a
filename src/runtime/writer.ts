import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { canFollow, type Phase } from '../protocol/states.ts'
import type { TaskLog } from '../tasks/log.ts'
import type { Mutable } from '../tasks/mutable.ts'

/** The one writer of a task as long as its lease lasts. Checks the rules, stores, and tells when it is stored. */
export interface Writer {
  readonly generation: number
  readonly phase: Phase
  /** Resolves when the event is stored. Events that wait together are stored together. */
  emit(event: TaskEvent): Promise<void>
  /** Resolves when everything emitted so far is stored or refused; undefined if it is. */
  settled(): Promise<void> | undefined
  /** Reads what others have stored since. */
  sync(): Promise<void>
}

export interface WriterOptions {
  readonly log: TaskLog
  readonly taskId: string
  readonly fence: number
  readonly generation: number
  readonly phase: Phase
  /** Others may store messages and wishes to cancel; here they arrive, in order. */
  readonly onForeign: (event: TaskEvent, generation: number) => void
  /** The last word on an event before it is stored, given all that has arrived by then. */
  readonly adjust: (event: TaskEvent) => TaskEvent
  /** Called after every append. */
  readonly onStored: () => void
  /** Somebody else holds the lease now, so nothing more will be stored here. */
  readonly onLost: () => void
  /** More is emitted without being awaited than can be held; what waited is refused. */
  readonly onFlood: () => void
}

/** The lease is gone: another writer has taken over, or the task no longer exists. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** An agent that emits without awaiting fills memory; beyond this many waiting events it is stopped. */
const maxWaiting = 100_000
const maxBatch = 1_000

export function createWriter(options: WriterOptions): Writer {
  const { log, taskId, fence, onForeign, adjust, onStored, onLost, onFlood } = options
  const waiting: Emission[] = []
  const syncs: Settle[] = []
  let lost: LeaseLost | undefined
  let working: Promise<void> | undefined

  /** One thing at a time: what is emitted while an append is under way goes into the next one. */
  async function work(): Promise<void> {
    await undefined // so that what is emitted in one go is stored in one go
    while (syncs.length > 0 || waiting.length > 0) {
      if (syncs.length > 0) await catchUpFor(syncs.splice(0))
      else await store(waiting.splice(0, maxBatch))
    }
    working = undefined
  }

  async function catchUpFor(waiters: readonly Settle[]): Promise<void> {
    try {
      await catchUp()
      for (const { resolve } of waiters) resolve()
    } catch (error) {
      for (const { reject } of waiters) reject(error)
    }
  }

  async function catchUp(): Promise<void> {
    for (;;) {
      const stored: readonly StoredEvent[] = await log.read(taskId, writer.generation)
      if (stored.length === 0) return
      for (const { generation, event } of stored) {
        onForeign(event, generation)
        writer.generation = generation
      }
    }
  }

  async function store(batch: readonly Emission[]): Promise<void> {
    try {
      for (;;) {
        if (lost) return refuse(batch, lost)
        const plan = checked(batch)
        if (plan.events.length === 0) return refuse(plan.forbidden)
        const appended = await log.append(taskId, writer.generation, plan.events, { fence })
        if (appended.type === 'behind') {
          await catchUp()
        } else if (appended.type === 'stored') {
          writer.generation = appended.generation
          writer.phase = plan.phase
          for (const emission of plan.allowed) emission.resolve()
          onStored()
          return refuse(plan.forbidden)
        } else {
          lost = new LeaseLost(`The lease of task ${taskId} is lost.`)
          onLost()
        }
      }
    } catch (error) {
      // The store failed: the agent hears of it, and the lease runs out if it does not recover.
      for (const emission of batch) disappoint(emission, error)
    }
  }

  /** What of a batch may be stored, given where the task stands now. */
  function checked(batch: readonly Emission[]) {
    let next = writer.phase
    const events: TaskEvent[] = []
    const allowed: Emission[] = []
    const forbidden: Emission[] = []
    for (const emission of batch) {
      const event = adjust(emission.event)
      const to = phaseAfter(event, next)
      if (to === undefined) {
        forbidden.push(emission)
      } else {
        next = to
        events.push(event)
        allowed.push(emission)
      }
    }
    return { events, allowed, forbidden, phase: next }
  }

  function refuse(batch: readonly Emission[], reason?: Error): void {
    for (const emission of batch) {
      const problem = `"${wish(emission.event)}" cannot follow "${writer.phase}" in task ${taskId}.`
      disappoint(emission, reason ?? new Error(problem))
    }
  }

  const writer: Mutable<Writer> = {
    generation: options.generation,
    phase: options.phase,
    emit(event) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      waiting.push({ event, promise, resolve, reject })
      if (waiting.length > maxWaiting) {
        refuse(waiting.splice(0), new Error(`More than ${maxWaiting} events wait to be stored: await what you emit.`))
        onFlood()
      }
      working ??= work()
      return promise
    },
    settled: () => working,
    sync() {
      const synced = new Promise<void>((resolve, reject) => syncs.push({ resolve, reject }))
      working ??= work()
      return synced
    },
  }
  return writer
}

interface Emission extends Settle {
  readonly event: TaskEvent
  readonly promise: Promise<void>
}

interface Settle {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

function disappoint({ promise, reject }: Emission, reason: unknown): void {
  // Whoever does not await it shall not be killed by it.
  promise.catch(() => {})
  reject(reason)
}

/** The phase after an event, or undefined if the rules forbid it. */
function phaseAfter(event: TaskEvent, phase: Phase): Phase | undefined {
  switch (event.type) {
    case 'status':
      return canFollow(phase, event.status.state) ? event.status.state : undefined
    case 'reply':
      return canFollow(phase, 'answered') ? 'answered' : undefined
    case 'artifact':
      return canFollow(phase, 'working') && phase !== 'received' ? phase : undefined
    case 'message':
    case 'cancel':
    case 'journal':
      return phase
  }
}

function wish(event: TaskEvent): string {
  return event.type === 'status' ? event.status.state : event.type
}
