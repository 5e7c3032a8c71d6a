import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { it, onTestFinished } from 'vitest'
import { createDatabase } from '../support/postgres/database.ts'
import { startReplicas } from '../support/processes/replicas.ts'
import { eventually, startServerProcess } from '../support/processes/server-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { expectComplete, expectSeenAsLogged, type LoggedEvent, type LoggedRow, loggedRows } from './counted-streams.ts'
import { expectNothingLost, leaseTtl, newRandom, underFaults } from './replicas-under-faults.ts'

it('every client sees every event once while three replicas on PostgreSQL are killed, suspended and disconnected', async () => {
  const { url, drop } = await createDatabase()
  const pool = new pg.Pool({ connectionString: url })
  onTestFinished(async () => {
    await pool.end()
    await drop()
  })
  await expectNothingLost({
    url,
    optionsFor: (reached) => ({ postgres: { url: reached, statementTimeout: 1_000, patience: 4_000 } }),
    countOpen: async () => (await pool.query('SELECT FROM parley.tasks WHERE NOT ended')).rows.length,
    loggedRows: () => loggedRows(pool),
  })
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
