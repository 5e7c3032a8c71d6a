import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createPostgresLog, type PostgresPool } from '../../src/entries/postgres.ts'
import type { PostgresLogOptions } from '../../src/stores/postgres/postgres-log.ts'
import { chunk, createTask, message, newTask, status, upTo } from '../../src/testing/stores/task-log/fixtures.ts'
import { silentLogger } from '../support/logger.ts'
import { type ReplicatedPostgres, startReplicatedPostgres } from '../support/postgres/server.ts'
import { eventually } from '../support/processes/server-process.ts'
import { startTestServer } from '../support/servers/test-server.ts'

let servers: ReplicatedPostgres
beforeAll(async () => {
  servers = await startReplicatedPostgres({ fsync: 'off' })
})
afterAll(() => servers.stop())

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}

/** A pool that counts the statements about tasks. */
function counted(pool: pg.Pool): PostgresPool & { statements: number } {
  const counting: PostgresPool & { statements: number } = {
    statements: 0,
    query(statement) {
      if (/parley|"\w+"\.(tasks|events)/.test(statement.text)) counting.statements++
      return pool.query(statement)
    },
    connect: () => pool.connect(),
    on: pool.on.bind(pool),
  }
  return counting
}

/** Logs in a schema of their own: of a process with a replica, and of another process. */
async function openLogs(options: Partial<PostgresLogOptions> = {}) {
  const schema = `s${crypto.randomUUID().slice(0, 8)}`
  const standby = openPool(servers.standby.url)
  const [primary, read] = [counted(openPool(servers.primary.url)), counted(standby)]
  const other = await createPostgresLog({ pool: openPool(servers.primary.url), schema })
  const log = await createPostgresLog({ pool: primary, read, schema, logger: silentLogger, maxLag: 60_000, ...options })
  onTestFinished(async () => {
    await standby.query('SELECT pg_wal_replay_resume()').catch(() => {})
    await Promise.all([log.close(), other.close()])
  })
  const { replica } = log
  if (!replica) throw new Error('a log with `read` has a replica')
  /** Until the replica has answered, which it does once it was seen to have caught up. */
  const caughtUp = async () => {
    const before = read.statements
    await eventually(async () => {
      await replica.list({ owner: 'nobody', limit: 1 })
      return read.statements > before + 1
    })
  }
  const pause = async () => {
    await standby.query('SELECT pg_wal_replay_pause()')
    await eventually(
      async () => (await standby.query('SELECT pg_get_wal_replay_pause_state() AS state')).rows[0].state === 'paused',
    )
  }
  return {
    log,
    other,
    replica,
    primary,
    read,
    caughtUp,
    pause,
    resume: () => standby.query('SELECT pg_wal_replay_resume()'),
  }
}

it('tasks, events, lists and the console are read from the replica', async () => {
  const { log, other, replica, primary, read, caughtUp } = await openLogs()
  const task = newTask()
  await other.create(task, [message(), status('working')], { lease: { holder: 'other', ttl: 60_000 } })
  await caughtUp()
  const before = { primary: primary.statements, read: read.statements }
  expect(await replica.head(task.taskId)).toMatchObject({ generation: 2 })
  expect(await replica.read(task.taskId, 0)).toHaveLength(2)
  expect(await replica.list({ owner: 'alice', limit: 10 })).toMatchObject({ total: 1 })
  expect(await log.operator.tasks({ limit: 10 })).toMatchObject({ total: 1 })
  expect(await log.operator.task(task.taskId)).toMatchObject({ generation: 2 })
  expect(primary.statements).toBe(before.primary)
  expect(read.statements).toBeGreaterThan(before.read + 4)
})

it('a process never reads less than it has stored, read or removed, while the replica stands still', async () => {
  const { log, other, replica, caughtUp, pause } = await openLogs()
  const [own, foreign, erased] = [
    await createTask(log),
    await createTask(other),
    await createTask(other, { owner: 'bob' }),
  ]
  await caughtUp()
  await pause()
  for (const after of upTo(3)) {
    await log.append(own, after, [chunk('x')], { fence: 1 })
    await other.append(foreign, after, [chunk('y')], { fence: 1 })
    expect(await replica.head(own)).toMatchObject({ generation: after + 1 })
    expect((await replica.read(own, after)).map(({ generation }) => generation)).toEqual([after + 1])
    expect(await log.operator.task(own)).toMatchObject({ generation: after + 1 })
  }
  // What another process has stored meanwhile may be unknown, until this one reads it from the primary.
  expect(await replica.head(foreign)).toMatchObject({ generation: 1 })
  await log.read(foreign, 3)
  expect(await replica.head(foreign)).toMatchObject({ generation: 4 })
  await log.append(own, 4, [status('completed')], { fence: 1 })
  expect((await replica.list({ owner: 'alice', limit: 10 })).heads).toMatchObject([{ taskId: own, generation: 5 }])
  await log.erase({ owner: 'bob' }, 10)
  expect(await replica.head(erased)).toBeUndefined()
  expect(await replica.head(await createTask(other))).toBeDefined() // a task that the replica lacks is looked up
})

it('a replica that is too far behind is not read, and is read again when it has caught up', async () => {
  const { other, replica, read, caughtUp, pause, resume } = await openLogs({ maxLag: 300 })
  const taskId = await createTask(other)
  await caughtUp()
  await pause()
  await other.append(taskId, 1, [chunk('x')], { fence: 1 })
  await eventually(async () => (await replica.head(taskId))?.generation === 2)
  await resume()
  await caughtUp()
  const before = read.statements
  await eventually(async () => {
    await replica.head(taskId)
    return read.statements > before
  })
})

it('a caller resumes at a server whose replica lacks the event that it has seen', async () => {
  const { log, other, caughtUp, pause } = await openLogs()
  const { wire } = await startTestServer(
    async (turn) => {
      await turn.status('working')
      return 'done'
    },
    { log },
  )
  const { id } = await wire.sendTask('first')
  await caughtUp()
  await pause()
  const task = newTask({ owner: (await log.head(id))?.owner ?? '' })
  const events = [message(), status('working'), chunk('1'), chunk('2'), status('completed', 2_000)]
  await other.create(task, events, { lease: { holder: 'other', ttl: 60_000 } })
  const headers = { 'last-event-id': '3' }
  const seen = await Array.fromAsync(wire.stream('SubscribeToTask', { id: task.taskId }, { headers }))
  expect(seen.map(({ generation }) => generation)).toEqual([4, 5])
  expect(await wire.getTask(task.taskId)).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
  expect(await wire.result('ListTasks', {})).toMatchObject({ totalSize: 2 })
})

it('reads use the primary while the replica is gone', async () => {
  const { log, other, replica, caughtUp } = await openLogs({ statementTimeout: 2_000 })
  const taskId = await createTask(other)
  await caughtUp()
  await servers.standby.kill()
  try {
    expect(await replica.head(taskId)).toMatchObject({ taskId })
    expect(await replica.list({ owner: 'alice', limit: 1 })).toMatchObject({ total: 0 })
    expect(await log.operator.task(taskId)).toMatchObject({ taskId })
  } finally {
    await servers.standby.restart()
  }
})
