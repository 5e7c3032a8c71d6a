import type { StoredEvent, TaskEvent } from '../../protocol/events.ts'
import {
  type Appended,
  type AppendOptions,
  type Claim,
  type ClaimRecord,
  type Created,
  type CreateOptions,
  type NewTask,
  readLimit,
  type TaskHead,
} from '../../tasks/log.ts'
import { advanceHead, initialHead } from '../../tasks/task-head.ts'
import { decodeRow, type EventBatch, isAnswered, isOver, keepsTaskRow, statusRow } from '../event-rows.ts'
import type { SqliteDatabase } from './connection.ts'
import type { Leases } from './heads.ts'

/** Whose rows need no looking up. Who is at work on more tasks at once looks the oldest of them up. */
const knownTasks = 10_000

export interface Claims {
  find(owner: string, key: string): ClaimRecord | undefined
  /** The first of these keys that is taken already. */
  findAny(owner: string, claims: readonly Claim[] | undefined): ClaimRecord | undefined
  claim(owner: string, task: number, generation: number, claims: readonly Claim[] | undefined): void
}

export function createClaims(db: SqliteDatabase): Claims {
  const select = db.prepare(`
    SELECT claims.digest, tasks.task_id, claims.generation FROM claims JOIN tasks ON tasks.key = claims.task
    WHERE claims.owner = ? AND claims.key = ?`)
  const insert = db.prepare(
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
        const found = find(owner, key)
        if (found) return found
      }
      return undefined
    },
    claim(owner, task, generation, claims = []) {
      for (const { key, digest } of claims) insert.run(owner, key, digest, task, generation)
    },
  }
}

/** Every write looks before it changes anything, so that a refused one leaves nothing to undo. */
export interface Events {
  create(task: NewTask, batch: EventBatch, options: CreateOptions): Created | { readonly type: 'exists' }
  append(taskId: string, after: number, batch: EventBatch, options: AppendOptions): Appended
  read(taskId: string, after: number): readonly StoredEvent[]
}

export function createEvents(db: SqliteDatabase, claims: Claims, leases: Leases, clock: () => number): Events {
  const insertTask = db.prepare(`
    INSERT INTO tasks (task_id, context_id, owner, generation, phase, status_row, status_answered, dialect,
      created, changed, ended, fence, lease_until, lease_holder)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 1, ?, ?)
    ON CONFLICT (task_id) DO NOTHING`)
  const insertRow = db.prepare('INSERT INTO events (task, generation, events) VALUES (?, ?, ?)')
  const selectTask = db.prepare('SELECT key, owner, generation, phase, changed, fence FROM tasks WHERE task_id = ?')
  // An index on a column costs as soon as the column is named, so most events name only the generation.
  const setGeneration = db.prepare('UPDATE tasks SET generation = ? WHERE key = ?')
  const setStanding = db.prepare(`
    UPDATE tasks SET generation = ?, phase = ?, status_row = coalesce(?, status_row), status_answered = ?,
      dialect = coalesce(?, dialect), changed = ?
    WHERE key = ?`)
  const setEnd = db.prepare('UPDATE tasks SET ended = 1, lease_until = NULL, lease_holder = NULL WHERE key = ?')
  const selectBeyond = db.prepare(`
    SELECT generation, events FROM events
    WHERE task = (SELECT key FROM tasks WHERE task_id = ?) AND generation > ?
    ORDER BY generation`)

  const moveOn = createMoveOn(db, clock)

  function insertEvents(task: number, after: number, { rows }: EventBatch) {
    let generation = after
    for (const { count, text } of rows) {
      generation += count
      insertRow.run(task, generation, text)
    }
  }

  return {
    create(task, batch, { lease, claims: wanted }) {
      const { events } = batch
      const claimed = claims.findAny(task.owner, wanted)
      if (claimed) return { type: 'known', claimed }
      const now = clock()
      const { generation, phase, dialect, changed } = advanceHead(initialHead(now), events, clock)
      const { changes, lastInsertRowid } = insertTask.run(
        task.taskId,
        task.contextId,
        task.owner,
        generation,
        phase,
        statusRow(batch, 0),
        isAnswered(events),
        dialect ?? null,
        now,
        changed,
        now + lease.ttl,
        lease.holder,
      )
      if (!changes) return { type: 'exists' }
      const key = Number(lastInsertRowid)
      insertEvents(key, 0, batch)
      if (isOver(phase)) setEnd.run(key)
      else moveOn.know(task.taskId, key)
      claims.claim(task.owner, key, 1, wanted)
      return { type: 'stored', generation, lease: { fence: 1 } }
    },

    append(taskId, after, batch, { fence, lease: request, claims: wanted }) {
      const { events } = batch
      const key = fence === undefined || wanted || request ? undefined : moveOn(taskId, after, batch, fence)
      if (key !== undefined) {
        insertEvents(key, after, batch)
        return { type: 'stored', generation: after + events.length }
      }
      const task = selectTask.get(taskId) as TaskRow | undefined
      if (!task || task.phase === 'expired') return { type: 'gone' }
      const claimed = claims.findAny(task.owner, wanted)
      if (claimed) return { type: 'known', claimed }
      if (fence !== undefined && fence !== task.fence) return { type: 'fenced' }
      if (task.generation !== after) return { type: 'behind', generation: task.generation }

      const { generation, phase, dialect, changed } = advanceHead(task, events, clock)
      if (events.every(keepsTaskRow)) setGeneration.run(generation, task.key)
      else {
        const statusAt = statusRow(batch, after)
        setStanding.run(generation, phase, statusAt, isAnswered(events), dialect ?? null, changed, task.key)
        if (isOver(phase)) setEnd.run(task.key)
      }
      insertEvents(task.key, after, batch)
      claims.claim(task.owner, task.key, after + 1, wanted)
      const lease = request && leases.acquire(taskId, request)
      return { type: 'stored', generation, lease }
    },

    read(taskId, after) {
      const rows = selectBeyond.iterate(taskId, after) as Iterable<StoredRow>
      const page: StoredEvent[] = []
      let characters = 0
      for (const { generation: last, events: text } of rows) {
        const events = decodeRow(text)
        const before = last - events.length
        // The first row may begin before what is asked for.
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

/**
 * Moves the row of a task on by events of its writer, in one statement that looks and changes; gives the row's key.
 * Undefined if the row is not as it must be: why, the long way finds out. A turn is made of such appends.
 */
export interface MoveOn {
  (taskId: string, after: number, batch: EventBatch, fence: number): number | undefined
  /** Remembers where the row of a task is that is at work here. */
  know(taskId: string, key: number): void
}

interface ClaimRow {
  readonly digest: string
  readonly task_id: string
  readonly generation: number
}

function createMoveOn(db: SqliteDatabase, now: () => number): MoveOn {
  const select = db.prepare('SELECT key FROM tasks WHERE task_id = ?')
  // The id beside the key: a key may belong to another task once its own is forgotten.
  const asExpected = "WHERE key = ? AND task_id = ? AND generation = ? AND fence = ? AND phase <> 'expired'"
  const standing = 'generation = ?, phase = ?, status_row = coalesce(?, status_row), status_answered = ?'
  const count = db.prepare(`UPDATE tasks SET generation = ? ${asExpected}`)
  const change = db.prepare(`UPDATE tasks SET ${standing}, changed = ? ${asExpected}`)
  const end = db.prepare(`
    UPDATE tasks SET ${standing}, changed = ?, ended = 1, lease_until = NULL, lease_holder = NULL ${asExpected}`)
  const keys = new Map<string, number>()

  function keyOf(taskId: string): number | undefined {
    const known = keys.get(taskId)
    if (known !== undefined) return known
    const found = (select.get(taskId) as { readonly key: number } | undefined)?.key
    if (found !== undefined) know(taskId, found)
    return found
  }

  function know(taskId: string, key: number): void {
    keys.set(taskId, key)
    for (const oldest of keys.keys()) {
      if (keys.size <= knownTasks) break
      keys.delete(oldest)
    }
  }

  function moveOn(taskId: string, after: number, batch: EventBatch, fence: number): number | undefined {
    const { events } = batch
    // What a caller says changes more than its writer knows of.
    if (events.some(({ type }) => type === 'message')) return undefined
    const key = keyOf(taskId)
    if (key === undefined) return undefined
    const generation = after + events.length
    if (events.every(keepsTaskRow)) {
      return count.run(generation, key, taskId, after, fence).changes ? key : gone(taskId)
    }
    const { phase, changed } = advanceHead(initialHead(0), events, now)
    const isLast = isOver(phase)
    const { changes } = (isLast ? end : change).run(
      generation,
      phase,
      statusRow(batch, after),
      isAnswered(events),
      changed,
      key,
      taskId,
      after,
      fence,
    )
    if (isLast || !changes) gone(taskId)
    return changes ? key : undefined
  }

  function gone(taskId: string): undefined {
    keys.delete(taskId)
  }

  return Object.assign(moveOn, { know })
}

interface TaskRow {
  readonly key: number
  readonly owner: string
  readonly generation: number
  readonly phase: TaskHead['phase']
  readonly changed: number
  readonly fence: number
}

interface StoredRow {
  /** Of the last event in it. */
  readonly generation: number
  readonly events: string
}
