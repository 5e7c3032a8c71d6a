import type pg from 'pg'
import { expect } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { generationOf } from '../contracts/service/contract.ts'

/** Number of chunks of each task. */
const chunks = 60

export interface LoggedRow {
  readonly task_id: string
  readonly head: number
  readonly generation: number
  readonly fence: number | null
  readonly event: LoggedEvent
}

export interface LoggedEvent {
  readonly type: string
  readonly status?: { readonly state: string }
  readonly artifact?: { readonly parts: readonly { readonly text?: string }[] }
}

/** All events in the log of a PostgreSQL. */
export async function loggedRows(pool: pg.Pool): Promise<readonly LoggedRow[]> {
  const { rows } = await pool.query<LoggedRow>(`
    SELECT task_id, task.generation AS head, event.generation, event.fence, event.event::json AS event
    FROM parley.tasks AS task JOIN parley.events AS event ON event.task = task.key ORDER BY task.key, event.generation`)
  return rows
}

/** Streams a task that counts, and resumes the stream until it ends. */
export async function readTask(url: string): Promise<StreamEvent[]> {
  const quick = { minDelay: 10, maxDelay: 200, tries: 1_000 }
  const client = await connect(url, {
    peerDeduplicates: true,
    idle: 2_000,
    openWithin: 3_000,
    retry: quick,
    resume: quick,
  })
  const seen: StreamEvent[] = []
  for await (const event of client.stream(`count ${chunks}`)) seen.push(event)
  return seen
}

export function endOf(stream: readonly StreamEvent[]): string {
  const last = stream.at(-1)
  if (last?.type === 'status') return last.status.state
  return last?.type === 'task' ? last.task.status.state : 'nothing'
}

/** The log has no gap and no event after the end, and the numbers of a turn are complete and in order. */
export function expectComplete(log: readonly LoggedRow[]): void {
  expect(log.map(({ generation }) => generation)).toEqual(log.map((_, index) => index + 1))
  expect(log.at(-1)?.head).toBe(log.length)
  const ends = log.map(({ event }) => ['completed', 'failed', 'canceled'].includes(event.status?.state ?? ''))
  expect(ends.indexOf(true)).toBe(log.length - 1)
  const counted = log.flatMap(({ event }) => event.artifact?.parts.map(({ text }) => text) ?? []).filter(Boolean)
  expect(counted).toEqual(counted.map((_, index) => `${index + 1}`))
  if (log.at(-1)?.event.status?.state === 'completed') expect(counted).toHaveLength(chunks)
}

/**
 * The client saw the events of the log up to the end of the task, each once. The event that closes an artifact arrives as an
 * empty text, or together with the chunk before it, which then has its number.
 */
export function expectSeenAsLogged(
  stream: readonly StreamEvent[],
  logs: ReadonlyMap<string, readonly LoggedRow[]>,
): void {
  const first = stream[0]
  if (first?.type !== 'task') throw new Error(`a stream began with ${JSON.stringify(first)}`)
  const log = logs.get(first.task.id) ?? []
  const logged = (generation: number) => log[generation - 1]?.event
  let position = generationOf(first) ?? 0
  for (const event of stream.slice(1)) {
    const closesToo = generationOf(event) === position + 2
    if (closesToo) expect(logged(position + 2)?.artifact?.parts).toEqual([])
    else expect(generationOf(event)).toBe(position + 1)
    const { type, artifact } = logged(position + 1) ?? {}
    expect(event.type).toBe(type)
    if (event.type === 'artifact') {
      expect(event.artifact.parts).toEqual(artifact?.parts.length === 0 ? [{ text: '' }] : artifact?.parts)
    }
    position += closesToo ? 2 : 1
  }
  expect(position).toBe(log.length)
  expect(endOf(stream)).toBe(log.at(-1)?.event.status?.state)
}
