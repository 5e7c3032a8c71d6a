import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPostgresLog, type PostgresLogOptions, type PostgresPool } from '../../src/entries/postgres.ts'
import type { PostgresClient } from '../../src/stores/postgres/connection.ts'
import type { TaskLog } from '../../src/tasks/log.ts'
import {
  chunk,
  createTask,
  lease,
  message,
  newTask,
  readAll,
  readGenerations,
  status,
  upTo,
} from '../contracts/task-log/fixtures.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { openPool } from '../support/postgres/pools.ts'
import { eventually } from '../support/processes/server-process.ts'
import { createTcpProxy } from '../support/servers/tcp-proxy.ts'

const never = new AbortController().signal

async function open(options: PostgresLogOptions): Promise<TaskLog> {
  const log = await createPostgresLog(options)
  onTestFinished(() => log.close())
  return log
}

/** A pool that does what it is asked, and then, while `isLosing`, loses the answer. */
function forgetful(pool: pg.Pool): PostgresPool & { isLosing: boolean; lostWhileHeld: number } {
  const losing = (query: PostgresPool['query']): PostgresPool['query'] => {
    return async (statement) => {
      const isLost = faulty.isLosing && /INSERT INTO|DELETE FROM/.test(statement.text)
      if (isLost) faulty.isLosing = false
      const result = await query(statement)
      if (isLost) throw new Error('Connection terminated unexpectedly')
      return result
    }
  }
  const faulty = {
    isLosing: false,
    lostWhileHeld: 0,
    query: losing((statement) => pool.query(statement)),
    async connect(): Promise<PostgresClient> {
      const client = await pool.connect()
      const query = losing((statement) => client.query(statement))
      return {
        on: client.on.bind(client),
        release: client.release.bind(client),
        query: (statement) =>
          query(statement).catch((error) => {
            faulty.lostWhileHeld++
            throw error
          }),
      }
    },
    on: pool.on.bind(pool),
  }
  return faulty
}

describe('an answer that is lost on its way', () => {
  it('leaves an append stored once, and answered as if nothing had happened', async () => {
    const pool = forgetful(await openPool())
    const log = await open({ pool })
    const taskId = await createTask(log)
    for (const after of upTo(5)) {
      pool.isLosing = true
      const appended = await log.append(taskId, after, [chunk(`${after}`)], { fence: 1 })
      expect(appended).toEqual({ type: 'stored', generation: after + 1, lease: undefined })
    }
    expect((await readAll(log, taskId)).map(({ event }) => event)).toEqual([
      message(),
      ...upTo(5).map((n) => chunk(`${n}`)),
    ])
  })

  it('does so also over the connection that listens', async () => {
    const pool = forgetful(await openPool())
    const log = await open({ pool })
    const taskId = await createTask(log)
    const leaving = new AbortController()
    const waiting = log.wait(taskId, 1_000, leaving.signal)
    for (let after = 1; pool.lostWhileHeld < 3; after++) {
      pool.isLosing = true
      const appended = await log.append(taskId, after, [chunk(`${after}`)], { fence: 1 })
      expect(appended).toEqual({ type: 'stored', generation: after + 1, lease: undefined })
      await sleep(20) // until it listens again
    }
    leaving.abort()
    await waiting
    const reader = await open({ pool })
    const stored = await readAll(reader, taskId)
    expect(stored.map(({ event }) => event)).toEqual([message(), ...upTo(stored.length - 1).map((n) => chunk(`${n}`))])
  })

  it('leaves the lease with whom it was given to', async () => {
    const pool = forgetful(await openPool())
    const log = await open({ pool })
    const taskId = await createTask(log)
    await log.release(taskId, 1, 1)
    pool.isLosing = true
    const claims = [{ key: 'k', digest: 'd' }]
    expect(await log.append(taskId, 1, [message('next')], { lease, claims })).toEqual({
      type: 'stored',
      generation: 2,
      lease: { fence: 2 },
    })
    expect(await log.append(taskId, 2, [status('working')], { fence: 2 })).toMatchObject({ type: 'stored' })
  })

  it('leaves it known what was erased', async () => {
    const pool = forgetful(await openPool())
    const log = await open({ pool })
    const taskIds = [await createTask(log, {}, chunk('a')), await createTask(log)]
    const others = await createTask(log, { owner: 'bob' })
    pool.isLosing = true
    const erased = await log.erase({ owner: 'alice' }, 10)
    expect(pool.isLosing).toBe(false)
    expect(new Map(erased.map(({ taskId, events }) => [taskId, events]))).toEqual(
      new Map([
        [taskIds[0], 2],
        [taskIds[1], 1],
      ]),
    )
    for (const taskId of taskIds) expect(await log.head(taskId)).toBeUndefined()
    expect(await readGenerations(log, others)).toEqual([1])
    expect(await log.erase({ owner: 'alice' }, 10)).toEqual([])
  })

  it('leaves a task begun once', async () => {
    const pool = forgetful(await openPool())
    const log = await open({ pool })
    const task = newTask()
    pool.isLosing = true
    const created = await log.create(task, [message()], { lease, claims: [{ key: 'k', digest: 'd' }] })
    expect(created).toEqual({ type: 'stored', generation: 1, lease: { fence: 1 } })
    expect(await readGenerations(log, task.taskId)).toEqual([1])
    await expect(log.create(task, [message()], { lease })).rejects.toThrow(/exists already/)
  })
})

it('connections that are broken again and again lose and double nothing', async () => {
  const pool = await openPool()
  const log = await open({ pool })
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  let isOver = false
  const breaking = (async () => {
    while (!isOver) {
      await sleep(30)
      await pool
        .query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        )
        .catch(() => {})
    }
  })()
  const write = async () => {
    const taskId = await createTask(log)
    void log.wait(taskId, 1_000, leaving.signal).catch(() => {})
    for (const n of upTo(100)) {
      expect(await log.append(taskId, n, [chunk(`${n}`)], { fence: 1 })).toMatchObject({ type: 'stored' })
    }
    return taskId
  }
  const taskIds = await Promise.all(upTo(10).map(write))
  isOver = true
  await breaking
  const reader = await open({ pool })
  for (const taskId of taskIds) {
    const events = (await readAll(reader, taskId)).map(({ event }) => event)
    expect(events).toEqual([message(), ...upTo(100).map((n) => chunk(`${n}`))])
  }
})

describe('what is notified', () => {
  it('wakes at once, and without it the next look does', async () => {
    const pool = await openPool()
    const { listening, ...hearing } = observed(pool)
    const writer = await open({ pool })
    const deaf: PostgresPool = {
      ...hearing,
      async connect() {
        const client = await hearing.connect()
        const on = client.on.bind(client)
        return Object.assign(client, {
          on: (event: 'end', listener: () => void) =>
            (event as string) === 'notification' ? client : on(event, listener),
        })
      },
    }
    const pollInterval = { listening: 300, deaf: 300 }
    const readers = [
      await open({ pool: hearing, pollInterval: { listening: 60_000, deaf: 60_000 } }),
      await open({ pool: deaf, pollInterval }),
    ]
    const taskId = await createTask(writer)
    for (const after of upTo(3)) {
      const waiting = readers.map((reader) => reader.wait(taskId, after, never))
      await eventually(() => listening.size === 2)
      await writer.append(taskId, after, [chunk('x')], { fence: 1 })
      await Promise.all(waiting)
    }
    for (const reader of readers) expect(await readGenerations(reader, taskId)).toEqual([1, 2, 3, 4])
  })

  it('is heard again after the listening connection broke, and what came meanwhile is not missed', async () => {
    const pool = await openPool()
    const { listening, ...hearing } = observed(pool)
    const [reader, writer] = [await open({ pool: hearing }), await open({ pool })]
    const taskId = await createTask(writer)
    for (const after of upTo(5)) {
      const waiting = reader.wait(taskId, after, never)
      await eventually(() => listening.size === 1)
      for (const pid of listening) await pool.query('SELECT pg_terminate_backend($1)', [pid])
      await writer.append(taskId, after, [chunk('x')], { fence: 1 })
      await waiting
    }
    expect(await readGenerations(reader, taskId)).toEqual([1, 2, 3, 4, 5, 6])
  })
})

describe('a database that is away', () => {
  async function behindProxy(options: Partial<PostgresLogOptions> = {}) {
    const database = await createDatabase()
    onTestFinished(() => database.drop())
    const url = new URL(database.url)
    const port = Number(url.port)
    const proxy = await createTcpProxy(() => port)
    url.port = `${proxy.port}`
    const pool = new pg.Pool({ connectionString: url.href })
    onTestFinished(() => pool.end())
    return { proxy, pool, open: () => open({ pool, ...options }) }
  }

  it('is waited for when the log is opened, and while it writes and reads', async () => {
    const place = await behindProxy()
    place.proxy.cut()
    const opening = place.open()
    await sleep(300)
    place.proxy.heal()
    const log = await opening
    const taskId = await createTask(log)
    place.proxy.cut()
    const working = Promise.all([
      log.append(taskId, 1, [chunk('a')], { fence: 1 }),
      log.head(taskId),
      log.renew([{ taskId, fence: 1 }], 1_000),
    ])
    await sleep(300)
    place.proxy.heal()
    expect(await working).toMatchObject([{ type: 'stored' }, { taskId }, []])
  })

  it('ends the waiting of those who may find it elsewhere, and takes them back when it is there again', async () => {
    const place = await behindProxy({ patience: 500, statementTimeout: 300 })
    const log = await place.open()
    const taskId = await createTask(log)
    for (const disturb of [place.proxy.cut, place.proxy.freeze]) {
      const waiting = log.wait(taskId, 1, never)
      await sleep(100) // until it listens, so that what follows goes over that connection
      disturb()
      await expect(waiting).rejects.toThrow(/schema parley of PostgreSQL cannot be used/)
      await expect(log.append(taskId, 1, [chunk('a')], { fence: 1 })).rejects.toThrow(/cannot be used/)
      place.proxy.heal()
      await eventually(() => log.head(taskId).then(Boolean, () => false))
    }
    const { generation = 0 } = (await log.head(taskId)) ?? {}
    const waiting = log.wait(taskId, generation, never)
    await log.append(taskId, generation, [message()], {})
    await waiting
  })

  it('is not waited for where waiting does not help: the error says what to do', async () => {
    const database = await createDatabase()
    onTestFinished(() => database.drop())
    const url = new URL(database.url)
    url.pathname = '/nowhere'
    const pool = new pg.Pool({ connectionString: url.href })
    onTestFinished(() => pool.end())
    await expect(createPostgresLog({ pool })).rejects.toThrow(/there is no such database. Create it/)
    const ended = new pg.Pool({ connectionString: database.url })
    await ended.end()
    await expect(createPostgresLog({ pool: ended })).rejects.toThrow(/after calling end/)
  })
})

/** A pool that knows which of its connections listen, by the numbers of their processes. */
function observed(pool: pg.Pool): PostgresPool & { readonly listening: ReadonlySet<number> } {
  const listening = new Set<number>()
  return {
    listening,
    query: (statement) => pool.query(statement),
    on: pool.on.bind(pool),
    async connect() {
      const client = await pool.connect()
      const note = async () => {
        const { rows } = await client.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid')
        const pid = rows[0]?.pid ?? expect.fail()
        listening.add(pid)
        client.once('end', () => listening.delete(pid))
      }
      return {
        on: client.on.bind(client),
        release: client.release.bind(client),
        async query(statement) {
          const result = await client.query(statement)
          if (statement.text.startsWith('LISTEN')) await note()
          return result
        },
      }
    },
  }
}
