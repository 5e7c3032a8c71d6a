import type { StoredEvent, TaskEvent } from '../../core/protocol/events.ts'
import { advanceHead, initialHead } from '../../core/tasks/fold.ts'
import {
  type Appended,
  type AppendOptions,
  type Claim,
  type ClaimRecord,
  type Created,
  type CreateOptions,
  type NewTask,
  readLimit,
  type Snapshot,
  type TaskHead,
} from '../../core/tasks/log.ts'
import {
  decodeRow,
  type EventBatch,
  firstSkill,
  isAnswered,
  isOver,
  keepsTaskRow,
  statusRow,
} from '../shared/event-batches.ts'
import type { SqliteDatabase } from './connection.ts'
import type { Leases } from './leases.ts'
import type { TaskCounts } from './task-counts.ts'

/** Number of tasks of which a part of the row is cached. */
const maxCached = 10_000

export interface Claims {
  find(owner: string, key: string): ClaimRecord | undefined
  /** The record of the first of these keys that is already claimed. */
  findAny(owner: string, claims: readonly Claim[] | undefined): ClaimRecord | undefined
  insert(owner: string, task: number, generation: number, claims: readonly Claim[] | undefined): void
}

export function createClaims(db: SqliteDatabase): Claims {
  const select = db.prepare(`
    SELECT claims.digest, tasks.task_id, claims.generation FROM claims JOIN tasks ON tasks.key = claims.task
    WHERE claims.owner = ? AND claims.key = ?`)
  const insertClaim = db.prepare(
    'INSERT OR REPLACE INTO claims (owner, key, digest, task, generation) VALUES (?, ?, ?, ?, ?)',
  )

  function find(owner: string, key: string): ClaimRecord | undefined {
    const row = select.get(owner, key) as ClaimRow | undefined
    return row && { digest: row.digest, taskId: row.task_id, generation: row.generation }
  }

  return {
    find,
    findAny(owner, claims = []) {
      for (const { key } of claims) {
        const record = find(owner, key)
        if (record) return record
      }
      return undefined
    },
    insert(owner, task, generation, claims = []) {
      for (const { key, digest } of claims) insertClaim.run(owner, key, digest, task, generation)
    },
  }
}

/** Every write checks before it changes anything, so that a refused write leaves nothing to undo. */
export interface Events {
  create(task: NewTask, batch: EventBatch, options: CreateOptions): Created | { readonly type: 'exists' }
  append(taskId: string, after: number, batch: EventBatch, options: AppendOptions): Appended
  read(taskId: string, after: number): readonly StoredEvent[]
}

export interface EventsOptions {
  readonly claims: Claims
  readonly leases: Leases
  readonly counts: TaskCounts
  /** The time of day. */
  readonly now: () => number
  /** The time by which leases end, which never goes back. */
  readonly leaseTime: () => number
}

export function createEvents(db: SqliteDatabase, { claims, leases, counts, now, leaseTime }: EventsOptions): Events {
  const insertTask = db.prepare(`
    INSERT INTO tasks (task_id, context_id, owner, generation, phase, status_row, status_answered, dialect,
      created, changed, ended, fence, lease_until, lease_holder, skill)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)
    ON CONFLICT (task_id) DO NOTHING`)
  const insertRow = db.prepare('INSERT INTO events (task, generation, events, at) VALUES (?, ?, ?, ?)')
  const selectTask = db.prepare(
    'SELECT key, owner, generation, phase, changed, fence, lease_holder FROM tasks WHERE task_id = ?',
  )
  // Naming an indexed column updates its index even if the value is unchanged, so most appends set only the generation.
  const setGeneration = db.prepare('UPDATE tasks SET generation = ? WHERE key = ?')
  const setHead = db.prepare(`
    UPDATE tasks SET generation = ?, phase = ?, status_row = coalesce(?, status_row), status_answered = ?,
      dialect = coalesce(?, dialect), changed = ?
    WHERE key = ?`)
  const setEnd = db.prepare(
    'UPDATE tasks SET ended = 1, lease_until = NULL, lease_holder = NULL, wake_at = NULL WHERE key = ?',
  )
  const selectAfter = db.prepare(`
    SELECT generation, events FROM events
    WHERE task = (SELECT key FROM tasks WHERE task_id = ?) AND generation > ?
    ORDER BY generation`)

  const appendByWriter = createAppendByWriter(db, counts, now)

  function insertEvents(task: number, after: number, { rows }: EventBatch) {
    let generation = after
    const at = Math.round(now())
    for (const { count, text } of rows) {
      generation += count
      insertRow.run(task, generation, text, at)
    }
  }

  return {
    create(task, batch, { lease, claims: newClaims }) {
      const { events } = batch
      const claimed = claims.findAny(task.owner, newClaims)
      if (claimed) return { type: 'known', claimed }
      const created = now()
      const { generation, phase, dialect, changed } = advanceHead(initialHead(created), events, now)
      const isEnded = isOver(phase)
      const { changes, lastInsertRowid } = insertTask.run(
        task.taskId,
        task.contextId,
        task.owner,
        generation,
        phase,
        statusRow(batch, 0),
        isAnswered(events),
        dialect ?? null,
        created,
        changed,
        isEnded ? 1 : 0,
        isEnded ? null : leaseTime() + lease.ttl,
        isEnded ? null : lease.holder,
        firstSkill(events) ?? null,
      )
      if (!changes) return { type: 'exists' }
      const key = Number(lastInsertRowid)
      insertEvents(key, 0, batch)
      counts.move(task.owner, 'received', phase)
      if (!isEnded) appendByWriter.remember(task.taskId, { key, owner: task.owner, phase })
      claims.insert(task.owner, key, 1, newClaims)
      return { type: 'stored', generation, lease: { fence: 1 } }
    },

    append(taskId, after, batch, { fence, lease: request, claims: newClaims }) {
      const { events } = batch
      const isPlain = fence !== undefined && !newClaims && !request
      const key = isPlain ? appendByWriter(taskId, after, batch, fence) : undefined
      if (key !== undefined) {
        insertEvents(key, after, batch)
        return { type: 'stored', generation: after + events.length }
      }
      const task = selectTask.get(taskId) as TaskRow | undefined
      if (!task || task.phase === 'expired') return { type: 'gone' }
      const claimed = claims.findAny(task.owner, newClaims)
      if (claimed) return { type: 'known', claimed }
      if (fence !== undefined && fence !== task.fence) return { type: 'fenced' }
      if (task.generation !== after) return { type: 'behind', generation: task.generation }

      const { generation, phase, dialect, changed } = advanceHead(task, events, now)
      if (events.every(keepsTaskRow)) setGeneration.run(generation, task.key)
      else {
        const statusAt = statusRow(batch, after)
        setHead.run(generation, phase, statusAt, isAnswered(events), dialect ?? null, changed, task.key)
        counts.move(task.owner, task.phase, phase)
        if (isOver(phase)) setEnd.run(task.key)
        else appendByWriter.remember(taskId, { key: task.key, owner: task.owner, phase })
      }
      insertEvents(task.key, after, batch)
      claims.insert(task.owner, task.key, after + 1, newClaims)
      const lease = request && leases.acquire(taskId, request)
      const isTakenOver = lease !== undefined && task.lease_holder !== null
      return { type: 'stored', generation, lease: isTakenOver ? { ...lease, isTakenOver } : lease }
    },

    read(taskId, after) {
      const rows = selectAfter.iterate(taskId, after) as Iterable<StoredRow>
      const page: StoredEvent[] = []
      let characters = 0
      for (const { generation: last, events: text } of rows) {
        const events = decodeRow(text)
        const before = last - events.length
        // The first row may begin at or before `after`.
        for (let at = Math.max(0, after - before); at < events.length && page.length < readLimit.events; at++) {
          page.push({ generation: before + 1 + at, event: events[at] as TaskEvent })
        }
        characters += text.length
        if (page.length >= readLimit.events || characters >= readLimit.bytes) break
      }
      return page
    },
  }
}

export interface Snapshots {
  newest(taskId: string): Snapshot | undefined
  keep(taskId: string, generation: number, json: string): void
}

export function createSnapshots(db: SqliteDatabase): Snapshots {
  const select = db.prepare('SELECT snapshot FROM snapshots WHERE task = (SELECT key FROM tasks WHERE task_id = ?)')
  const upsert = db.prepare(`
    INSERT INTO snapshots (task, generation, snapshot)
    SELECT key, ?, ? FROM tasks WHERE task_id = ? AND phase <> 'expired'
    ON CONFLICT (task) DO UPDATE SET generation = excluded.generation, snapshot = excluded.snapshot
    WHERE excluded.generation > snapshots.generation`)

  return {
    newest(taskId) {
      const row = select.get(taskId) as { snapshot: string } | undefined
      return row && (JSON.parse(row.snapshot) as Snapshot)
    },
    keep(taskId, generation, json) {
      upsert.run(generation, json, taskId)
    },
  }
}

/**
 * The fast path for the events of a turn: updates the row of the task in one statement, if generation, fence and phase are as
 * expected, and returns the key of the row. Undefined if they are not; the general path then finds out why.
 */
interface AppendByWriter {
  (taskId: string, after: number, batch: EventBatch, fence: number): number | undefined
  /** Caches what is needed of the row of a task that this process works on. */
  remember(taskId: string, task: CachedTask): void
}

interface CachedTask {
  readonly key: number
  readonly owner: string
  readonly phase: TaskHead['phase']
}

interface ClaimRow {
  readonly digest: string
  readonly task_id: string
  readonly generation: number
}

function createAppendByWriter(db: SqliteDatabase, counts: TaskCounts, now: () => number): AppendByWriter {
  const select = db.prepare("SELECT key, owner, phase FROM tasks WHERE task_id = ? AND phase <> 'expired'")
  // The id next to the key: SQLite may reuse the key of a removed task.
  const isUnchanged = 'WHERE key = ? AND task_id = ? AND generation = ? AND fence = ?'
  const headColumns = 'generation = ?, phase = ?, status_row = coalesce(?, status_row), status_answered = ?'
  const setGeneration = db.prepare(`UPDATE tasks SET generation = ? ${isUnchanged} AND phase <> 'expired'`)
  const setHead = db.prepare(`UPDATE tasks SET ${headColumns}, changed = ? ${isUnchanged} AND phase = ?`)
  const setEnd = db.prepare(`
    UPDATE tasks SET ${headColumns}, changed = ?, ended = 1, lease_until = NULL, lease_holder = NULL
    ${isUnchanged} AND phase = ?`)
  const cache = new Map<string, CachedTask>()

  function find(taskId: string): CachedTask | undefined {
    const cached = cache.get(taskId)
    if (cached !== undefined) return cached
    const task = select.get(taskId) as CachedTask | undefined
    if (task !== undefined) remember(taskId, task)
    return task
  }

  function remember(taskId: string, task: CachedTask): void {
    cache.set(taskId, task)
    for (const oldest of cache.keys()) {
      if (cache.size <= maxCached) break
      cache.delete(oldest)
    }
  }

  function append(taskId: string, after: number, batch: EventBatch, fence: number): number | undefined {
    const { events } = batch
    // A message leaves the phase as it is and may change the dialect: these statements cover neither.
    if (events.some(({ type }) => type === 'message')) return undefined
    const task = find(taskId)
    if (task === undefined) return undefined
    const { key, owner } = task
    const generation = after + events.length
    if (events.every(keepsTaskRow)) {
      return setGeneration.run(generation, key, taskId, after, fence).changes ? key : forget(taskId)
    }
    const { phase, changed } = advanceHead(initialHead(0), events, now)
    const isLast = isOver(phase)
    const { changes } = (isLast ? setEnd : setHead).run(
      generation,
      phase,
      statusRow(batch, after),
      isAnswered(events),
      changed,
      key,
      taskId,
      after,
      fence,
      task.phase,
    )
    if (!changes) return forget(taskId)
    counts.move(owner, task.phase, phase)
    if (isLast) forget(taskId)
    else remember(taskId, { key, owner, phase })
    return key
  }

  function forget(taskId: string): undefined {
    cache.delete(taskId)
  }

  return Object.assign(append, { remember })
}

interface TaskRow {
  readonly key: number
  readonly owner: string
  readonly generation: number
  readonly phase: TaskHead['phase']
  readonly changed: number
  readonly fence: number
  readonly lease_holder: string | null
}

interface StoredRow {
  /** The generation of the last event in the row. */
  readonly generation: number
  readonly events: string
}
