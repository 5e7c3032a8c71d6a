import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import {
  type AppendOptions,
  advanceHead,
  type Claim,
  type ClaimRecord,
  createWakeups,
  type HeadState,
  initialHead,
  isEnded,
  isWithin,
  type Lease,
  type LeaseRequest,
  type NewTask,
  readLimit,
  type Snapshot,
  type TaskEvent,
  type TaskHead,
  type TaskLog,
} from 'parley-a2a/stores'

/** What the file has of a task, beside its events. Every change is a line with the new state and the new events. */
interface TaskState {
  readonly task: NewTask
  readonly created: number
  readonly head: HeadState
  /** Orders tasks whose status changed in the same millisecond. */
  readonly key: number
  /** The number of the newest lease. */
  readonly fence: number
  /** Whether a writer has the lease, or had it when the process ended. */
  readonly isHeld: boolean
  /** When a task without a lease must be looked after, in milliseconds since 1970. */
  readonly wakeAt?: number | undefined
  readonly claims: readonly (Claim & { readonly generation: number })[]
  readonly snapshot?: Snapshot | undefined
}

/** A task in memory. */
interface Entry {
  state: TaskState
  events: readonly TaskEvent[]
  /** When the lease expires, by `performance.now()`, which nobody sets back. Not in the file: a lease ends with its process. */
  leaseUntil: number
}

interface Line {
  readonly taskId: string
  /** Missing if the task was removed. */
  readonly state?: TaskState
  /** Added to the events of the task. */
  readonly events?: readonly TaskEvent[]
  /** Whether the task lost its events before. */
  readonly isEmptied?: boolean
}

/**
 * A task log in a file with one line of JSON for each change. All tasks are in memory, and one process at a time may use the file.
 *
 * @example
 * await serve(agent, { log: createFileLog('tasks.jsonl') })
 */
export function createFileLog(file: string): TaskLog {
  const tasks = new Map<string, Entry>()
  const wakeups = createWakeups()
  for (const line of existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []) {
    // The last line is incomplete if the process was killed while it wrote: its promise was never resolved.
    if (line.endsWith('}')) apply(JSON.parse(line) as Line)
  }
  // Only the newest state of each task, for a short file.
  const lines = [...tasks].map(([taskId, { state, events }]) => JSON.stringify({ taskId, state, events }))
  writeFileSync(`${file}.new`, lines.map((line) => `${line}\n`).join(''), { flush: true })
  renameSync(`${file}.new`, file)
  let output: number | undefined = openSync(file, 'a')
  let lastKey = Math.max(0, ...[...tasks.values()].map(({ state }) => state.key))

  function apply({ taskId, state, events = [], isEmptied = false }: Line): void {
    if (!state) {
      tasks.delete(taskId)
      return
    }
    const entry = tasks.get(taskId)
    const earlier = isEmptied ? [] : (entry?.events ?? [])
    tasks.set(taskId, { state, events: [...earlier, ...events], leaseUntil: entry?.leaseUntil ?? 0 })
  }

  /** Durable before it is visible. Readers are woken last. */
  function commit(line: Line): void {
    if (output === undefined) throw new Error(`The task log ${file} is closed.`)
    writeSync(output, `${JSON.stringify(line)}\n`)
    fsyncSync(output)
    apply(line)
    wakeups.wake(line.taskId)
  }

  function change(taskId: string, changes: Partial<TaskState>, more: Partial<Line> = {}): void {
    const entry = tasks.get(taskId)
    if (entry) commit({ ...more, taskId, state: { ...entry.state, ...changes } })
  }

  function claimed(owner: string, key: string): ClaimRecord | undefined {
    for (const { state } of tasks.values()) {
      const claim = state.task.owner === owner ? state.claims.find((candidate) => candidate.key === key) : undefined
      if (claim) return { digest: claim.digest, taskId: state.task.taskId, generation: claim.generation }
    }
    return undefined
  }

  function knownClaim(owner: string, { claims = [] }: AppendOptions) {
    const record = claims.map(({ key }) => claimed(owner, key)).find((candidate) => candidate !== undefined)
    return record && { type: 'known' as const, claimed: record }
  }

  function acquire(taskId: string, { ttl }: LeaseRequest): Lease | undefined {
    const entry = tasks.get(taskId)
    if (!entry || isOver(entry) || (entry.state.isHeld && entry.leaseUntil > performance.now())) return undefined
    const fence = entry.state.fence + 1
    change(taskId, { fence, isHeld: true, wakeAt: undefined })
    keepLease(taskId, ttl)
    return { fence }
  }

  function keepLease(taskId: string, ttl: number): void {
    const entry = tasks.get(taskId)
    if (entry) entry.leaseUntil = performance.now() + ttl
  }

  /** The tasks that match, and at most `limit` of them. */
  function select(limit: number, matches: (entry: Entry) => boolean): Entry[] {
    return [...tasks.values()].filter(matches).slice(0, limit)
  }

  return {
    async create(task, events, options) {
      const { taskId, owner } = task
      const known = knownClaim(owner, options)
      if (known) return known
      if (tasks.has(taskId)) throw new Error(`task ${taskId} exists already`)
      const created = Date.now()
      const claims = (options.claims ?? []).map((claim) => ({ ...claim, generation: 1 }))
      const head = advanceHead(initialHead(created), events)
      const isHeld = !hasEnded(head)
      commit({ taskId, state: { task, created, head, key: ++lastKey, fence: 1, isHeld, claims }, events })
      keepLease(taskId, options.lease.ttl)
      return { type: 'stored', generation: head.generation, lease: { fence: 1 } }
    },
    async append(taskId, after, events, options) {
      const entry = tasks.get(taskId)
      if (!entry || entry.state.head.phase === 'expired') return { type: 'gone' }
      const { task, head: oldHead, fence, claims } = entry.state
      // The order of these answers is part of the contract.
      const known = knownClaim(task.owner, options)
      if (known) return known
      if (options.fence !== undefined && options.fence !== fence) return { type: 'fenced' }
      if (oldHead.generation !== after) return { type: 'behind', generation: oldHead.generation }
      const head = advanceHead(oldHead, events)
      const added = (options.claims ?? []).map((claim) => ({ ...claim, generation: after + 1 }))
      const ends = hasEnded(head) ? { isHeld: false, wakeAt: undefined } : {}
      change(taskId, { head, claims: [...claims, ...added], ...ends }, { events })
      const wasHeld = tasks.get(taskId)?.state.isHeld === true
      const lease = options.lease && acquire(taskId, options.lease)
      return {
        type: 'stored',
        generation: head.generation,
        lease: lease && wasHeld ? { ...lease, isTakenOver: true } : lease,
      }
    },
    async head(taskId, scope) {
      const entry = tasks.get(taskId)
      return entry && (!scope || isWithin(scope, entry.state.task.owner)) ? headOf(entry) : undefined
    },
    async read(taskId, after) {
      const events = tasks.get(taskId)?.events ?? []
      return events
        .slice(after, after + readLimit.events)
        .map((event, index) => ({ generation: after + index + 1, event }))
    },
    async wait(taskId, after, signal) {
      if ((tasks.get(taskId)?.state.head.generation ?? 0) <= after) await wakeups.wait(taskId, signal)
    },
    async snapshot(taskId) {
      return tasks.get(taskId)?.state.snapshot
    },
    async keepSnapshot(snapshot) {
      const { head, snapshot: newest } = tasks.get(snapshot.taskId)?.state ?? {}
      if (head?.phase === 'expired' || snapshot.generation <= (newest?.generation ?? 0)) return
      change(snapshot.taskId, { snapshot })
    },
    async list({ contextId, phase, changedSince = 0, cursor, limit, ...scope }) {
      const matching = select(Number.POSITIVE_INFINITY, ({ state: { task, head } }) => {
        const isTask = head.status !== undefined && isWithin(scope, task.owner) && head.changed >= changedSince
        return isTask && task.contextId === (contextId ?? task.contextId) && head.phase === (phase ?? head.phase)
      }).map((entry) => ({ ...headOf(entry), key: entry.state.key }))
      matching.sort((one, other) => other.changed - one.changed || other.key - one.key)
      const isAfter = ({ changed, key }: { changed: number; key: number }) =>
        !cursor || (changed - cursor.changed || key - cursor.key) < 0
      const rest = matching.filter(isAfter)
      const heads = rest.slice(0, limit)
      const last = rest.length > limit ? heads.at(-1) : undefined
      return { heads, total: matching.length, ...(last && { next: { changed: last.changed, key: last.key } }) }
    },
    async claimed(owner, key) {
      return claimed(owner, key)
    },
    async acquire(taskId, lease) {
      return acquire(taskId, lease)
    },
    async renew(leases, ttl) {
      const isLost = ({ taskId, fence }: Lease & { taskId: string }) => {
        const state = tasks.get(taskId)?.state
        if (state?.fence !== fence || !state.isHeld) return true
        keepLease(taskId, ttl)
        return false
      }
      return leases.filter(isLost).map(({ taskId }) => taskId)
    },
    async release(taskId, fence, after, wakeAt) {
      const entry = tasks.get(taskId)
      if (entry?.state.fence !== fence) return true
      if (entry.state.head.generation !== after) return false
      change(taskId, { isHeld: false, wakeAt: isOver(entry) ? undefined : wakeAt })
      return true
    },
    async orphans(limit) {
      return select(limit, ({ state: { isHeld, wakeAt }, leaseUntil }) => {
        return isHeld ? leaseUntil <= performance.now() : wakeAt !== undefined && wakeAt <= Date.now()
      }).map(headOf)
    },
    async expire(endedBefore, limit, phases: readonly string[] | undefined) {
      const old = select(limit, ({ state: { head } }) => {
        return hasEnded(head) && head.changed < endedBefore && (phases?.includes(head.phase) ?? true)
      })
      for (const { state } of old) {
        const head: HeadState = { ...state.head, phase: 'expired', status: undefined }
        change(state.task.taskId, { head, snapshot: undefined }, { isEmptied: true })
      }
      return old.length
    },
    async forget(endedBefore, limit) {
      const old = select(limit, ({ state: { head } }) => head.phase === 'expired' && head.changed < endedBefore)
      for (const { state } of old) commit({ taskId: state.task.taskId })
      return old.length
    },
    async erase({ owner, contextId }, limit) {
      const erased = select(limit, ({ state: { task } }) => {
        return task.owner === (owner ?? task.owner) && task.contextId === (contextId ?? task.contextId)
      })
      for (const { state } of erased) commit({ taskId: state.task.taskId })
      return erased.map(({ state, events }) => ({ ...state.task, events: events.length }))
    },
    async close() {
      if (output !== undefined) closeSync(output)
      output = undefined
      wakeups.wakeAll()
    },
  }
}

function headOf({ state: { task, head, created } }: Entry): TaskHead {
  return { ...task, ...head, created }
}

function hasEnded({ phase }: HeadState): boolean {
  return phase !== 'expired' && isEnded(phase)
}

function isOver({ state: { head } }: Entry): boolean {
  return head.phase === 'expired' || hasEnded(head)
}
