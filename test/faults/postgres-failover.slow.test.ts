import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { createFailoverPool, createPostgresLog } from '../../src/entries/postgres.ts'
import { createTask, readGenerations } from '../../src/testing/stores/task-log/fixtures.ts'
import { createRecordingLogger, silentLogger } from '../support/logger.ts'
import { startReplicatedPostgres } from '../support/postgres/server.ts'
import { startReplicas } from '../support/processes/replicas.ts'
import { eventually, startServerProcess } from '../support/processes/server-process.ts'
import { createRandom } from '../support/random.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { createWireClient } from '../support/wire/wire-client.ts'
import { endOf, expectComplete, expectSeenAsLogged, loggedRows, readTask } from './counted-streams.ts'

/** How long calls run before the primary is killed, while it is gone, and after the standby was promoted. */
const milliseconds = { before: 3_000, without: 1_000, after: 3_000 }

async function startServers() {
  const servers = await startReplicatedPostgres()
  onTestFinished(servers.stop)
  return servers
}

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}

it('a killed primary and a promoted standby lose no answered call and no seen event', async () => {
  const { primary, standby } = await startServers()
  const directory = await temporaryDirectory()
  const postgres = { url: primary.url, standbyUrl: standby.url, statementTimeout: 3_000, patience: 60_000 }
  const start = () => startServerProcess(directory, { postgres, patience: 120_000 })
  const replicas = await startReplicas([{ start }, { start }], createRandom(1))
  const wire = createWireClient(replicas.url)
  const streams: StreamEvent[][] = []
  const answered: string[] = []
  let answeredAt = 0
  let isDone = false
  const streaming = Array.from({ length: 6 }, async () => {
    while (!isDone) streams.push(await readTask(replicas.url))
  })
  const sending = Array.from({ length: 6 }, async () => {
    while (!isDone) {
      const { id } = await wire.sendTask('work')
      answered.push(id)
      answeredAt = performance.now()
    }
  })

  await sleep(milliseconds.before)
  const killedAt = performance.now()
  await primary.kill()
  await sleep(milliseconds.without)
  const promotedAt = performance.now()
  const pool = openPool(standby.url)
  await pool.query('SELECT pg_promote()')
  await eventually(() => answeredAt > promotedAt)
  const recovered = { sinceKill: answeredAt - killedAt, sincePromotion: answeredAt - promotedAt }
  await sleep(milliseconds.after)
  isDone = true
  await Promise.all([...streaming, ...sending])
  console.log(
    `${streams.length} streams, ${answered.length} calls; answered again ${Math.round(recovered.sincePromotion)} ms ` +
      `after the promotion began, ${Math.round(recovered.sinceKill)} ms after the primary was killed`,
  )

  const logs = Map.groupBy(await loggedRows(pool), ({ task_id }) => task_id)
  for (const log of logs.values()) expect(log.map(({ generation }) => generation)).toEqual(log.map((_, at) => at + 1))
  for (const id of answered) expect(logs.get(id)?.at(-1)?.event.status?.state).toBe('completed')
  for (const stream of streams) {
    expect(endOf(stream)).toBe('completed') // the lease lasts longer than the failover
    expectSeenAsLogged(stream, logs)
    const [first] = stream
    if (first?.type === 'task') expectComplete(logs.get(first.task.id) ?? [])
  }
})

it('a former primary that runs again is not used, in any order of the pools', async () => {
  const { primary, standby } = await startServers()
  const { lines, logger } = createRecordingLogger()
  const pools = [openPool(standby.url), openPool(primary.url)]
  const log = await createPostgresLog({ pools, logger })
  onTestFinished(() => log.close())
  const taskId = await createTask(log)
  await primary.kill()
  await openPool(standby.url).query('SELECT pg_promote()')
  await createTask(log)
  expect(lines).toContainEqual(expect.objectContaining({ message: 'PostgreSQL server 1 of 2 is the primary now' }))
  await primary.restart()

  for (const order of [pools, pools.toReversed()]) {
    const pool = createFailoverPool({ pools: order, logger: silentLogger })
    const { rows } = await pool.query({ text: 'SELECT pg_is_in_recovery() AS standby, count(*) FROM parley.tasks' })
    expect(rows).toEqual([{ standby: false, count: '2' }])
  }
  expect(await readGenerations(log, taskId)).toEqual([1])
})

it('a log of standbys alone waits, and names what is missing', async () => {
  const { standby } = await startServers()
  const opening = createPostgresLog({ pools: [openPool(standby.url)], startPatience: 100, logger: silentLogger })
  await expect(opening).rejects.toThrow(/none of 1 servers can be written: all are standbys/)
})
