import type { StoredEvent, TaskEvent } from '../../protocol/events.ts'
import { advance, beginning } from '../../tasks/advance.ts'
import {
  type Appended,
  type AppendOptions,
  type Created,
  type CreateOptions,
  type NewTask,
  readLimit,
  type TaskHead,
} from '../../tasks/log.ts'
import { decodeRow, type EventBatch, statusRow } from '../event-batch.ts'
import { isAnswered, isOver, leavesStanding } from '../standing.ts'
import type { Claims } from './claims.ts'
import type { SqliteDatabase } from './driver.ts'
import type { Leases } from './leases.ts'
import { createMoveOn } from './move-on.ts'

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
      const { generation, phase, dialect, changed } = advance(beginning(now), events, clock)
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

      const { generation, phase, dialect, changed } = advance(task, events, clock)
      if (events.every(leavesStanding)) setGeneration.run(generation, task.key)
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
