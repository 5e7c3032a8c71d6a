import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { StoredEvent } from '../../src/core/protocol/events.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { readAll } from '../../src/testing/stores/task-log/fixtures.ts'
import { collect } from '../support/async.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import {
  eventually,
  type ProcessOptions,
  recordedTurns,
  release,
  type ServerProcess,
  startServerProcess,
} from '../support/processes/server-process.ts'
import { createTcpProxy } from '../support/servers/tcp-proxy.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const leaseTtl = 1_000
/** What an agent returns is read from the last status here, although its task has artifacts. */
const turns = { leaseTtl, answers: 'status' } as const
const immediately = { configuration: { returnImmediately: true } }

/** Storage that several processes share. */
interface Storage {
  readonly directory: string
  start(options: ProcessOptions): Promise<ServerProcess>
  eventsOf(taskId: string): Promise<readonly StoredEvent[]>
}

const storages: readonly (readonly [string, () => Promise<Storage>])[] = [
  ['SQLite', openSqlite],
  ['PostgreSQL', openPostgres],
]

async function openSqlite(): Promise<Storage> {
  const directory = await temporaryDirectory()
  return {
    directory,
    start: (options) => startServerProcess(directory, { ...options, turns: { ...turns, ...options.turns } }),
    async eventsOf(taskId) {
      const log = createSqliteLog({ file: join(directory, 'scripted.db') })
      const events = await readAll(log, taskId)
      await log.close()
      return events
    },
  }
}

async function openPostgres(): Promise<Storage & { readonly url: string }> {
  const directory = await temporaryDirectory()
  const database = await takeDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  onTestFinished(async () => {
    await pool.end()
    await database.release()
  })
  return {
    directory,
    url: database.url,
    start: (options) =>
      startServerProcess(directory, {
        ...options,
        postgres: { url: database.url },
        turns: { ...turns, ...options.turns },
      }),
    async eventsOf(taskId) {
      const log = await createPostgresLog({ pool })
      const events = await readAll(log, taskId)
      await log.close()
      return events
    },
  }
}

/** The processes that wrote the ticks in the log, in order. */
function writersIn(events: readonly StoredEvent[]): readonly number[] {
  const pids = events.flatMap(({ event }) =>
    event.type === 'artifact' ? event.artifact.parts.map((part) => ('text' in part ? Number(part.text) : 0)) : [],
  )
  return pids.filter((pid, index) => pid !== 0 && pid !== pids[index - 1])
}

/** Starts a task that ticks in the first of two processes. */
async function startTicking(a: ServerProcess): Promise<string> {
  const { id } = await a.wire.sendTask('tick', immediately)
  // The ticks are one text, of the process id for each tick.
  const ticked = async () => JSON.stringify((await a.wire.getTask(id)).artifacts?.[0]?.parts ?? '').split(`${a.pid}`)
  await eventually(async () => (await ticked()).length > 10)
  return id
}

it.each(['cut', 'freeze'] as const)(
  'a process that reconnects to PostgreSQL after losing its lease (%s) cannot write another event',
  async (disturb) => {
    const { directory, url: direct, start, eventsOf } = await openPostgres()
    const url = new URL(direct)
    const port = Number(url.port)
    const proxy = await createTcpProxy(() => port)
    url.port = `${proxy.port}`
    const recovery = 'retry'
    const postgres = { url: url.href, statementTimeout: 1_000, patience: 4_000 }
    const [a, b] = await Promise.all([
      startServerProcess(directory, { recovery, postgres, turns }),
      start({ recovery }),
    ])
    const id = await startTicking(a)
    proxy[disturb]()
    await eventually(async () => (await b.wire.getTask(id)).status.state === 'TASK_STATE_COMPLETED')
    const before = await eventsOf(id)
    expect(writersIn(before)).toEqual([a.pid, b.pid])
    proxy.heal()
    await eventually(() => a.stderr().includes('was lost to another process'))
    await eventually(async () => (await a.wire.getTask(id)).status.state === 'TASK_STATE_COMPLETED')
    expect(await eventsOf(id)).toEqual(before)
  },
)

describe.each(storages)('%s', (_, openStorage) => {
  async function startPair(options: ProcessOptions) {
    const storage = await openStorage()
    const [a, b] = await Promise.all([storage.start(options), storage.start(options)])
    return { ...storage, a, b }
  }

  describe('a killed process', () => {
    it('another process retries the turn of a killed process within two lease periods', async () => {
      const { a, b, eventsOf } = await startPair({ recovery: 'retry' })
      const id = await startTicking(a)
      const followed = collect(b.wire.subscribe(id))
      a.signal('SIGKILL')
      const killed = performance.now()
      await eventually(async () => writersIn(await eventsOf(id)).includes(b.pid))
      expect(performance.now() - killed).toBeLessThan(2 * leaseTtl + 1_000)
      const { status } = (await followed).at(-1)?.result?.statusUpdate ?? {}
      expect(status).toMatchObject({ state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'attempt 2' }] } })
      // The log has the artifact of both attempts, the task only that of the second one.
      expect(writersIn(await eventsOf(id))).toEqual([a.pid, b.pid])
      const { artifacts = [] } = await b.wire.getTask(id)
      const ticks = artifacts.flatMap(({ parts }) => parts.map(({ text = '' }) => text)).join('')
      expect(ticks).toContain(`${b.pid}`)
      expect(ticks.replaceAll(`${b.pid}`, '').trim()).toBe('')
    })
  })

  describe('a suspended process', () => {
    it.each(['fail', 'retry'] as const)(
      'a process that continues after losing its lease cannot write another event: policy %s',
      async (recovery) => {
        const { a, b, eventsOf } = await startPair({ recovery })
        const id = await startTicking(a)
        a.signal('SIGSTOP')
        const end = recovery === 'fail' ? 'TASK_STATE_FAILED' : 'TASK_STATE_COMPLETED'
        await eventually(async () => (await b.wire.getTask(id)).status.state === end)
        const before = await eventsOf(id)
        a.signal('SIGCONT')
        // The process has noticed that its lease is lost.
        await eventually(() => a.stderr().includes('was lost to another process'))
        expect((await a.wire.sendTask('work')).status.state).toBe('TASK_STATE_COMPLETED')
        expect(await eventsOf(id)).toEqual(before)
        expect(writersIn(before)).toEqual(recovery === 'fail' ? [a.pid] : [a.pid, b.pid])
      },
    )
  })

  describe('SIGTERM', () => {
    it('a running turn is handed over at once, without waiting for its lease to expire', async () => {
      const { a, b, eventsOf } = await startPair({ recovery: 'retry', drainDeadline: 100, turns: { leaseTtl: 60_000 } })
      const id = await startTicking(a)
      a.signal('SIGTERM')
      const { status } = (await collect(b.wire.subscribe(id))).at(-1)?.result?.statusUpdate ?? {}
      expect(status).toMatchObject({ state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'attempt 2' }] } })
      expect(await a.ended).toBe(0)
      expect(writersIn(await eventsOf(id))).toEqual([a.pid, b.pid])
    })
  })

  describe('durable turns', () => {
    const recovery = 'resume'
    const textIn = (parts: readonly { readonly text?: string }[] = []) => parts.map(({ text }) => text).join('')

    it('a durable turn continues across processes and repeats no step and no event', async () => {
      const { directory, start: startWith, eventsOf } = await openStorage()
      const start = () => startWith({ recovery })
      const notes = async () =>
        (await recordedTurns(directory)).map(({ text }) => text).filter((text) => !/^order/.test(text))
      const first = await start()
      const { id } = await first.wire.sendTask('order gate', immediately)
      await eventually(async () => (await notes()).includes('confirm begins'))
      first.signal('SIGKILL')
      await first.ended

      const second = await start()
      await eventually(async () => (await notes()).filter((text) => text === 'confirm begins').length === 2)
      await release(directory, 'gate')
      await eventually(async () => (await second.wire.getTask(id)).status.state === 'TASK_STATE_INPUT_REQUIRED')
      second.signal('SIGKILL')
      await second.ended

      const third = await start()
      // No process waits for the answer, which may take days: the answer itself resumes the turn.
      const done = await third.wire.sendTask('card', { taskId: id })
      expect([done.status.state, textIn(done.status.message?.parts)]).toEqual(['TASK_STATE_COMPLETED', 'Paid by card'])
      expect(await notes()).toEqual(['reserve', 'confirm begins', 'confirm begins', 'confirm', 'pay by card'])
      expect(done.artifacts?.map(({ parts }) => textIn(parts))).toEqual(['one two'])
      const events = (await eventsOf(id)).map(({ event }) => event)
      const statuses = events.flatMap((event) =>
        event.type === 'status' && !event.implied ? [event.status.state] : [],
      )
      expect(statuses).toEqual(['working', 'input-required', 'completed'])
    })

    it('another process continues the durable turn of a suspended one, which then stores nothing', async () => {
      const { directory, a, b, eventsOf } = await startPair({ recovery })
      const { id } = await a.wire.sendTask('order gate', immediately)
      await eventually(async () => (await recordedTurns(directory)).some(({ text }) => text === 'confirm begins'))
      a.signal('SIGSTOP')
      await eventually(async () => (await recordedTurns(directory)).some(({ pid }) => pid === b.pid))
      await release(directory, 'gate')
      await eventually(async () => (await b.wire.getTask(id)).status.state === 'TASK_STATE_INPUT_REQUIRED')
      const before = await eventsOf(id)
      a.signal('SIGCONT')
      // The step of the suspended process completes as well, but its result is not stored.
      await eventually(() => a.stderr().includes('was lost to another process'))
      expect(await eventsOf(id)).toEqual(before)
      const done = await a.wire.sendTask('cash', { taskId: id })
      expect(textIn(done.status.message?.parts)).toBe('Paid by cash')
    })

    it('a durable turn is handed over at once when its server stops', async () => {
      const { directory, a, b } = await startPair({ recovery, drainDeadline: 50, turns: { leaseTtl: 60_000 } })
      const { id } = await a.wire.sendTask('order gate', immediately)
      await eventually(async () => (await recordedTurns(directory)).some(({ text }) => text === 'confirm begins'))
      a.signal('SIGTERM')
      await eventually(async () => (await recordedTurns(directory)).some(({ pid }) => pid === b.pid))
      expect(await a.ended).toBe(0)
      await release(directory, 'gate')
      await eventually(async () => (await b.wire.getTask(id)).status.state === 'TASK_STATE_INPUT_REQUIRED')
      expect((await recordedTurns(directory)).filter(({ text }) => text === 'reserve')).toHaveLength(1)
    })

    it('a durable turn whose question times out is ended by another process', async () => {
      const { start } = await openStorage()
      const first = await start({ recovery })
      const expiresAt = Date.now() + 4_000
      const { id, status } = await first.wire.sendTask(`ask-until ${expiresAt}`)
      expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED')
      first.signal('SIGKILL')
      await first.ended
      const { wire } = await start({ recovery })
      await eventually(async () => (await wire.getTask(id)).status.state === 'TASK_STATE_FAILED')
      expect(Date.now()).toBeGreaterThanOrEqual(expiresAt)
      const { message } = (await wire.getTask(id)).status
      expect(textIn(message?.parts)).toContain(`not answered by ${new Date(expiresAt).toISOString()}`)
    })
  })
})
