import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Logger } from '../../src/core/base/logger.ts'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createPostgresLog, type PostgresPool } from '../../src/entries/postgres.ts'
import type { PostgresClient } from '../../src/stores/postgres/connection.ts'
import type { PostgresLogOptions } from '../../src/stores/postgres/postgres-log.ts'
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
} from '../../src/testing/stores/task-log/fixtures.ts'
import { silentLogger } from '../support/logger.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { openPool } from '../support/postgres/pools.ts'
import { eventually } from '../support/processes/server-process.ts'
import { createTcpProxy } from '../support/servers/tcp-proxy.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { sendParams } from '../support/wire/wire-client.ts'

const never = new AbortController().signal

async function open(options: PostgresLogOptions): Promise<TaskLog> {
  const log = await createPostgresLog(options)
  onTestFinished(() => log.close())
  return log
}

/** A pool that executes a write and, if `isLosing` is set, loses its response. */
function losingPool(pool: pg.Pool): PostgresPool & { isLosing: boolean; lostWhileHeld: number } {
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

describe('a lost response', () => {
  it('an append is stored once and resolves normally although its response was lost', async () => {
    const pool = losingPool(await openPool())
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

  it('an append over the listening connection is stored once although its response was lost', async () => {
    const pool = losingPool(await openPool())
    const log = await open({ pool })
    const taskId = await createTask(log)
    const stopping = new AbortController()
    const waiting = log.wait(taskId, 1_000, stopping.signal)
    for (let after = 1; pool.lostWhileHeld < 3; after++) {
      pool.isLosing = true
      const appended = await log.append(taskId, after, [chunk(`${after}`)], { fence: 1 })
      expect(appended).toEqual({ type: 'stored', generation: after + 1, lease: undefined })
      await sleep(20) // until it listens again
    }
    stopping.abort()
    await waiting
    const reader = await open({ pool })
    const stored = await readAll(reader, taskId)
    expect(stored.map(({ event }) => event)).toEqual([message(), ...upTo(stored.length - 1).map((n) => chunk(`${n}`))])
  })

  it('a lease that was acquired with a lost response is returned', async () => {
    const pool = losingPool(await openPool())
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

  it('a lease that was taken over from another holder with a lost response says so', async () => {
    const pool = losingPool(await openPool())
    const log = await open({ pool })
    const task = newTask()
    await log.create(task, [message()], { lease: { holder: 'gone', ttl: 1 } })
    await sleep(5)
    pool.isLosing = true
    const appended = await log.append(task.taskId, 1, [message('again')], { lease })
    expect(appended).toEqual({ type: 'stored', generation: 2, lease: { fence: 2, isTakenOver: true } })
    expect(pool.isLosing).toBe(false)
  })

  it('an erasure whose response was lost returns the erased tasks', async () => {
    const pool = losingPool(await openPool())
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

  it('a task is created once although the response was lost', async () => {
    const pool = losingPool(await openPool())
    const log = await open({ pool })
    const task = newTask()
    pool.isLosing = true
    const created = await log.create(task, [message()], { lease, claims: [{ key: 'k', digest: 'd' }] })
    expect(created).toEqual({ type: 'stored', generation: 1, lease: { fence: 1 } })
    expect(await readGenerations(log, task.taskId)).toEqual([1])
    await expect(log.create(task, [message()], { lease })).rejects.toThrow(/exists already/)
  })
})

it('repeatedly broken connections neither lose nor repeat an event', async () => {
  const pool = await openPool()
  const log = await open({ pool })
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  let isDone = false
  const breaking = (async () => {
    while (!isDone) {
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
    void log.wait(taskId, 1_000, stopping.signal).catch(() => {})
    for (const n of upTo(100)) {
      expect(await log.append(taskId, n, [chunk(`${n}`)], { fence: 1 })).toMatchObject({ type: 'stored' })
    }
    return taskId
  }
  const taskIds = await Promise.all(upTo(10).map(write))
  isDone = true
  await breaking
  const reader = await open({ pool })
  for (const taskId of taskIds) {
    const events = (await readAll(reader, taskId)).map(({ event }) => event)
    expect(events).toEqual([message(), ...upTo(100).map((n) => chunk(`${n}`))])
  }
})

describe('notifications', () => {
  it('a notification wakes a reader at once, and a poll does without it', async () => {
    const pool = await openPool()
    const { listening, ...listeningPool } = observedPool(pool)
    const writer = await open({ pool })
    const deafPool: PostgresPool = {
      ...listeningPool,
      async connect() {
        const client = await listeningPool.connect()
        const on = client.on.bind(client)
        return Object.assign(client, {
          on: (event: 'end', listener: () => void) =>
            (event as string) === 'notification' ? client : on(event, listener),
        })
      },
    }
    const pollInterval = { listening: 300, deaf: 300 }
    const readers = [
      await open({ pool: listeningPool, pollInterval: { listening: 60_000, deaf: 60_000 } }),
      await open({ pool: deafPool, pollInterval }),
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

  it('the listener reconnects, and readers miss no event meanwhile', async () => {
    const pool = await openPool()
    const { listening, ...listeningPool } = observedPool(pool)
    const [reader, writer] = [await open({ pool: listeningPool }), await open({ pool })]
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

describe('an unreachable database', () => {
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

  it('opening, writing and reading wait for an unreachable database', async () => {
    const storage = await behindProxy()
    storage.proxy.cut()
    const opening = storage.open()
    await sleep(300)
    storage.proxy.heal()
    const log = await opening
    const taskId = await createTask(log)
    storage.proxy.cut()
    const working = Promise.all([
      log.append(taskId, 1, [chunk('a')], { fence: 1 }),
      log.head(taskId),
      log.renew([{ taskId, fence: 1 }], 1_000),
    ])
    await sleep(300)
    storage.proxy.heal()
    expect(await working).toMatchObject([{ type: 'stored' }, { taskId }, []])
  })

  it('waiting readers fail after a while, and can wait again when the database is back', async () => {
    const storage = await behindProxy({ patience: 500, statementTimeout: 300 })
    const log = await storage.open()
    const taskId = await createTask(log)
    for (const disturb of [storage.proxy.cut, storage.proxy.freeze]) {
      const waiting = log.wait(taskId, 1, never)
      await sleep(100) // until it listens, so that the next statements use that connection
      disturb()
      const cause = { message: expect.stringMatching(/schema parley of PostgreSQL cannot be used/) }
      await expect(waiting).rejects.toMatchObject({ code: 'unavailable', cause })
      const appending = log.append(taskId, 1, [chunk('a')], { fence: 1 })
      await expect(appending).rejects.toMatchObject({ code: 'unavailable', cause })
      storage.proxy.heal()
      await eventually(() => log.head(taskId).then(Boolean, () => false))
    }
    const { generation = 0 } = (await log.head(taskId)) ?? {}
    const waiting = log.wait(taskId, generation, never)
    await log.append(taskId, generation, [message()], {})
    await waiting
  })

  it('calls get 503 and health checks fail while the database is unreachable', async () => {
    const storage = await behindProxy({ patience: 300, statementTimeout: 300 })
    const log = await storage.open()
    const errors: { readonly message: string; readonly error: unknown }[] = []
    const logger: Logger = {
      ...silentLogger,
      error: (fields, message) => void errors.push({ message, error: (fields as { error?: unknown }).error }),
    }
    const { server, wire } = await startTestServer(() => 'hello', { log, logger })
    const health = async () => (await fetch(`${server.url}/healthz`)).status
    expect(await health()).toBe(200)
    storage.proxy.cut()
    const response = await wire.post({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sendParams('hi') })
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    const { error } = (await response.json()) as { readonly error: { readonly code: number; readonly message: string } }
    expect(error.code).toBe(-32603)
    expect(error.message).not.toMatch(/PostgreSQL|ECONN/)
    await eventually(async () => (await health()) === 503)
    const cause = { message: expect.stringMatching(/^The task log in schema parley of PostgreSQL cannot be used/) }
    for (const message of [
      'a request failed because the task log cannot be used',
      'not ready: the task log cannot be used',
    ]) {
      expect(errors.find((line) => line.message === message)?.error).toMatchObject(cause)
    }
    storage.proxy.heal()
    await eventually(async () => (await health()) === 200)
    expect((await wire.send('hi')).message).toBeDefined()
  })

  it('calls fail at once when the database has been unreachable for longer than a call waits', async () => {
    const patience = 2_000
    const storage = await behindProxy({ patience, statementTimeout: 300, logger: silentLogger })
    const log = await storage.open()
    const taskId = await createTask(log)
    storage.proxy.cut()
    await expect(log.head(taskId)).rejects.toMatchObject({ code: 'unavailable' })
    // The outage may be a moment younger than the call that noticed it.
    await expect(log.head(taskId)).rejects.toMatchObject({ code: 'unavailable' })
    const begun = performance.now()
    for (const work of [log.head(taskId), createTask(log), log.list({ limit: 1 } as never)]) {
      await expect(work).rejects.toMatchObject({
        code: 'unavailable',
        cause: { message: expect.stringMatching(/could not be reached for/) },
      })
    }
    expect(performance.now() - begun).toBeLessThan(patience / 2)
    storage.proxy.heal()
    await eventually(async () => (await log.head(taskId).catch(() => undefined)) !== undefined)
  })

  it('a permanent error is reported at once and says what to do', async () => {
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

/** A pool that records the backend processes of its listening connections. */
function observedPool(pool: pg.Pool): PostgresPool & { readonly listening: ReadonlySet<number> } {
  const listening = new Set<number>()
  return {
    listening,
    query: (statement) => pool.query(statement),
    on: pool.on.bind(pool),
    async connect() {
      const client = await pool.connect()
      const recordListener = async () => {
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
          if (statement.text.startsWith('LISTEN')) await recordListener()
          return result
        },
      }
    },
  }
}
