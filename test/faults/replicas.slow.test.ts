import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { type FaultName, injectFaults, type ReplicaSet, startReplicas } from '../support/processes/replicas.ts'
import { eventually, startServerProcess } from '../support/processes/server-process.ts'
import { createRandom, type Random } from '../support/random.ts'
import { createTcpProxy } from '../support/servers/tcp-proxy.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import {
  endOf,
  expectComplete,
  expectSeenAsLogged,
  type LoggedEvent,
  type LoggedRow,
  loggedRows,
  readTask,
} from './counted-streams.ts'

const seconds = Number(process.env.PARLEY_CHAOS_SECONDS ?? 15)
const leaseTtl = 1_500
const clients = 12

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
  const logs = Map.groupBy(await loggedRows(pool), ({ task_id }) => task_id)
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
