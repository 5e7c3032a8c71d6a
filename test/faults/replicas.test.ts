import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { generationOf } from '../contracts/service/contract.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { type FaultName, injectFaults, type ReplicaSet, startReplicas } from '../support/processes/replicas.ts'
import { eventually, startServerProcess } from '../support/processes/server-process.ts'
import { createRandom, type Random } from '../support/random.ts'
import { createTcpProxy } from '../support/servers/tcp-proxy.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const seconds = Number(process.env.PARLEY_CHAOS_SECONDS ?? 15)
const leaseTtl = 1_500
const clients = 12
const chunks = 60

it('every client sees every event once while three replicas on PostgreSQL are killed, suspended and disconnected', async () => {
  const random = newRandom()
  const database = await createDatabase()
  onTestFinished(() => database.drop())
  const directory = await temporaryDirectory()
  const starts = await Promise.all(
    [1, 2, 3].map(async () => {
      const url = new URL(database.url)
      const port = Number(url.port)
      const proxy = await createTcpProxy(() => port)
      url.port = `${proxy.port}`
      const postgres = { url: url.href, statementTimeout: 1_000, patience: 4_000 }
      return { database: proxy, start: () => startServerProcess(directory, { postgres, turns: { leaseTtl } }) }
    }),
  )
  const replicas = await startReplicas(starts, random)
  const streams = await underFaults(replicas, random, ['killed', 'stopped', 'cutFromDatabase', 'frozenOutOfDatabase'])

  const pool = new pg.Pool({ connectionString: database.url })
  onTestFinished(() => pool.end())
  await eventually(async () => (await pool.query('SELECT FROM parley.tasks WHERE NOT ended')).rows.length === 0)
  const { rows } = await pool.query(`
    SELECT task_id, task.generation AS head, event.generation, event.fence, event.event::json AS event
    FROM parley.tasks AS task JOIN parley.events AS event ON event.task = task.key ORDER BY task.key, event.generation`)
  const logs = Map.groupBy(rows as LoggedRow[], ({ task_id }) => task_id)
  for (const log of logs.values()) {
    expectComplete(log)
    // No event of an older lease follows an event of a newer one.
    const fences = log.flatMap(({ fence }) => (fence === null ? [] : [fence]))
    expect(fences).toEqual(fences.toSorted((a, b) => a - b))
  }
  for (const stream of streams) expectSeenAsLogged(stream, logs)
}, 180_000)

it('every client sees every event once while two processes on SQLite are killed and suspended', async () => {
  const random = newRandom()
  const directory = await temporaryDirectory()
  const start = () => startServerProcess(directory, { turns: { leaseTtl } })
  const replicas = await startReplicas([{ start }, { start }], random)
  const streams = await underFaults(replicas, random, ['killed', 'stopped'])

  const db = new DatabaseSync(join(directory, 'scripted.db'), { readOnly: true })
  onTestFinished(() => db.close())
  const open = db.prepare('SELECT 1 FROM tasks WHERE ended = 0')
  await eventually(() => open.all().length === 0)
  const select = db.prepare(`
    SELECT task_id, tasks.generation AS head, events FROM tasks JOIN events ON events.task = tasks.key
    ORDER BY tasks.key, events.generation`)
  const rows = select.all() as unknown as { task_id: string; head: number; events: string }[]
  const logs = new Map<string, LoggedRow[]>()
  for (const { task_id, head, events } of rows) {
    const log = logs.get(task_id) ?? []
    logs.set(task_id, log)
    for (const event of JSON.parse(events) as LoggedEvent[]) {
      log.push({ task_id, head, generation: log.length + 1, fence: null, event })
    }
  }
  for (const log of logs.values()) expectComplete(log)
  for (const stream of streams) expectSeenAsLogged(stream, logs)
}, 180_000)

interface LoggedRow {
  readonly task_id: string
  readonly head: number
  readonly generation: number
  readonly fence: number | null
  readonly event: LoggedEvent
}

interface LoggedEvent {
  readonly type: string
  readonly status?: { readonly state: string }
  readonly artifact?: { readonly parts: readonly { readonly text?: string }[] }
}

function newRandom(): Random {
  const seed = Number(process.env.PARLEY_SEED ?? Math.floor(Math.random() * 2 ** 32))
  console.log(`seed: PARLEY_SEED=${seed}`)
  return createRandom(seed)
}

/** Injects faults and returns the streams that the clients saw meanwhile. */
async function underFaults(replicas: ReplicaSet, random: Random, names: readonly FaultName[]) {
  const streams: StreamEvent[][] = []
  let isDone = false
  const working = Array.from({ length: clients }, async () => {
    while (!isDone) streams.push(await readTask(replicas.url))
  })
  const faults = await injectFaults(replicas, random, { names, milliseconds: seconds * 1_000 })
  isDone = true
  await Promise.all(working)
  const ends = Map.groupBy(streams, (stream) => endOf(stream))
  const counts = Object.fromEntries([...ends].map(([end, all]) => [end, all.length]))
  console.log(`${streams.length} streams`, counts, 'replicas were', faults)
  return streams
}

async function readTask(url: string): Promise<StreamEvent[]> {
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

function endOf(stream: readonly StreamEvent[]): string {
  const last = stream.at(-1)
  if (last?.type === 'status') return last.status.state
  return last?.type === 'task' ? last.task.status.state : 'nothing'
}

/** The log has no gap and no event after the end, and the numbers of a turn are complete and in order. */
function expectComplete(log: readonly LoggedRow[]): void {
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
function expectSeenAsLogged(stream: readonly StreamEvent[], logs: ReadonlyMap<string, readonly LoggedRow[]>): void {
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
