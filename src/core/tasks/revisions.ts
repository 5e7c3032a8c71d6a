import { BoundedMap } from '../base/bounded-map.ts'
import type { TaskEvent } from '../protocol/events.ts'
import { isEnded } from '../protocol/states.ts'
import type { TaskLog } from './log.ts'

/** Number of tasks whose current revision is known without a read. */
const maxKnown = 10_000

/** Number of pages after which other work gets a turn: some logs read without leaving the event loop. */
const pagesPerTurn = 16

/**
 * How many changes that callers see an event makes. Every status counts, even if the state stays the same: each is an
 * event on the wire, and no two of them may have the same number. An answer is two: its artifact, and the last status.
 */
export function changesIn(event: TaskEvent): number {
  if (event.type === 'artifact') return 1
  if (event.type !== 'status') return 0
  return event.status.isAnswer && event.status.message ? 2 : 1
}

/** The revision of a task at a generation. The log must be one with revisions. */
export async function revisionAt(log: Pick<TaskLog, 'read'>, taskId: string, generation: number): Promise<number> {
  if (generation === 0) return 0
  const [stored] = await log.read(taskId, generation - 1)
  return stored?.event.revision ?? 0
}

/**
 * The same log with the revision of the task in every event. It is stored with the events, so that a reader can start
 * anywhere. Events and snapshots that were stored without one are counted when they are read, from the start of their
 * task. Since the revision depends only on the events before it, every reader counts the same.
 */
export function withRevisions<L extends TaskLog>(log: L): L {
  const known = new BoundedMap<string, Position>(maxKnown)

  /** Counts the events that were stored without a revision. */
  async function countUntil(taskId: string, last: number): Promise<number> {
    const nearest = known.get(taskId)
    let { generation, revision } = nearest && nearest.generation <= last ? nearest : start
    for (let page = 1; generation < last; page++) {
      const stored = await log.read(taskId, generation)
      if (stored.length === 0) break
      for (const { generation: next, event } of stored) {
        if (next > last) break
        revision = event.revision ?? revision + changesIn(event)
        generation = next
      }
      if (page % pagesPerTurn === 0) await new Promise<void>((resolve) => setTimeout(resolve, 0))
    }
    known.set(taskId, { generation, revision })
    return revision
  }

  async function findRevision(taskId: string, generation: number): Promise<number> {
    if (generation === 0) return 0
    const position = known.get(taskId)
    if (position?.generation === generation) return position.revision
    const [stored] = await log.read(taskId, generation - 1)
    return stored?.event.revision ?? (await countUntil(taskId, generation))
  }

  function remember(taskId: string, generation: number, events: readonly TaskEvent[]): void {
    const last = events.at(-1)
    if (!last) return
    if (endsTask(last)) known.delete(taskId)
    else known.set(taskId, { generation, revision: last.revision ?? 0 })
  }

  const counting: Pick<TaskLog, 'create' | 'append' | 'read' | 'snapshot'> = {
    async create(task, events, options) {
      const counted = countFrom(0, events)
      const created = await log.create(task, counted, options)
      if (created.type === 'stored') remember(task.taskId, created.generation, counted)
      return created
    },

    async append(taskId, after, events, options) {
      const position = known.get(taskId)
      // Without an await where the revision is known: stores commit together what is appended in one tick.
      const revision = position?.generation === after ? position.revision : await findRevision(taskId, after)
      const counted = countFrom(revision, events)
      const appended = await log.append(taskId, after, counted, options)
      if (appended.type === 'stored') remember(taskId, appended.generation, counted)
      return appended
    },

    async read(taskId, after) {
      const page = await log.read(taskId, after)
      if (page.every(({ event }) => event.revision !== undefined)) return page
      let revision = await findRevision(taskId, after)
      const counted = page.map(({ generation, event }) => {
        revision = event.revision ?? revision + changesIn(event)
        return { generation, event: { ...event, revision } }
      })
      known.set(taskId, { generation: after + page.length, revision })
      return counted
    },

    async snapshot(taskId) {
      const snapshot = await log.snapshot(taskId)
      if (!snapshot || snapshot.revision !== undefined) return snapshot
      return { ...snapshot, revision: await countUntil(taskId, snapshot.generation) }
    },
  }

  // Logs may be objects of a class, whose methods need their own object.
  return new Proxy(log, {
    get(target, name) {
      if (Object.hasOwn(counting, name)) return counting[name as keyof typeof counting]
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

interface Position {
  readonly generation: number
  readonly revision: number
}

const start: Position = { generation: 0, revision: 0 }

function countFrom(revision: number, events: readonly TaskEvent[]): readonly TaskEvent[] {
  let last = revision
  return events.map((event) => {
    last += changesIn(event)
    return { ...event, revision: last }
  })
}

function endsTask(event: TaskEvent): boolean {
  return event.type === 'reply' || (event.type === 'status' && isEnded(event.status.state))
}
