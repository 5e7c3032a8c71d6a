import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RowDataPacket } from 'mysql2'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Principal } from '../../src/core/protocol/model.ts'
import type { LogWithWebhooks } from '../../src/core/push/push.ts'
import type { EraseRequest } from '../../src/core/runtime/operations/erase.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { createMysqlLog } from '../../src/entries/mysql.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { callOf, createTestRuntime, messageOf, taskOf } from '../support/agents/test-runtime.ts'
import { until } from '../support/async.ts'
import { hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openMigratedPool } from '../support/postgres/pools.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

startServerFirst()

/** Part of everything that alice sends and receives. */
const secret = 'planted-secret'
const alice: Principal = { id: 'alice', tenant: 'acme' }
const bob: Principal = { id: 'bob', tenant: 'acme' }

interface OpenedLog {
  readonly log: LogWithWebhooks
  /** Returns everything stored as one text, and closes the log. */
  dump(): Promise<string>
}

const logs: readonly (readonly [string, () => Promise<OpenedLog>])[] = [
  ['memory', async () => ({ log: createMemoryLog(), dump: async () => 'kept' })],
  ['SQLite', openSqlite],
  ['PostgreSQL', openPostgres],
  ...(hasMariadb ? [['MySQL', openMysql] as const] : []),
]

async function openSqlite(): Promise<OpenedLog> {
  const file = join(await temporaryDirectory(), 'tasks.db')
  const log = createSqliteLog({ file })
  return {
    log,
    async dump() {
      await log.close()
      return await readFile(file, 'latin1')
    },
  }
}

async function openPostgres(): Promise<OpenedLog> {
  const pool = await openMigratedPool()
  const log = await createPostgresLog({ pool })
  onTestFinished(() => log.close())
  return {
    log,
    async dump() {
      const { rows } = await pool.query(`SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'parley'`)
      const texts = rows.map(({ relname }) => pool.query(`SELECT t::text AS text FROM parley.${relname} AS t`))
      return (await Promise.all(texts)).flatMap(({ rows: all }) => all.map(({ text }) => text)).join('\n')
    },
  }
}

async function openMysql(): Promise<OpenedLog> {
  const pool = await openMariadbPool()
  const log = await createMysqlLog({ pool })
  onTestFinished(() => log.close())
  return {
    log,
    async dump() {
      const [tables] = await pool.query<RowDataPacket[]>('SHOW TABLES')
      const names = tables.flatMap((row) => Object.values(row) as string[])
      const contents = await Promise.all(names.map((name) => pool.query<RowDataPacket[]>(`SELECT * FROM ${name}`)))
      return JSON.stringify(contents.map(([rows]) => rows))
    },
  }
}

/** Accepts all deliveries. */
const fetch = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })

it.each(logs.slice(1))(
  'a process that crashes during an erasure leaves no webhook of an erased task: %s',
  async (_, open) => {
    const { log, dump } = await open()
    const dying: LogWithWebhooks = {
      ...log,
      async erase(selection, limit) {
        await log.erase(selection, limit)
        throw new Error('the process crashed')
      },
    }
    const { service, erase, drain } = createTestRuntime(async (turn) => turn.requireInput('more?'), {
      log: dying,
      push: { fetch },
    })
    const call = callOf({ principal: alice })
    const task = taskOf(await service.sendMessage({ message: messageOf('hello', { contextId: 'hers' }) }, call))
    const ids = ['p', 'q "\\\n']
    for (const id of ids) {
      await service.createPushConfig({ taskId: task.id, id, url: `https://${secret}.test/` }, call)
    }
    await expect(erase({ contextId: 'hers' })).rejects.toThrow('the process crashed')
    await drain(0)
    const stored = await dump()
    for (const text of [secret, task.id]) expect(stored.includes(text)).toBe(false)
  },
)

describe.each(logs)('erasure from the %s log', (_, open) => {
  it.each<[string, EraseRequest]>([
    ['by principal', { principal: alice }],
    ['by context', { contextId: 'hers' }],
    ['by both', { principal: alice, contextId: 'hers' }],
  ])(
    'an erasure %s is reported and leaves no messages, artifacts, journal, snapshots, keys or webhooks',
    async (_how, request) => {
      const { log, dump } = await open()
      const { service, erase, drain } = createTestRuntime(
        async (turn) => {
          await turn.step(`step of ${turn.text}`, () => turn.text)
          await turn.artifact('result').close(`about ${turn.text}`)
          await turn.requireInput(`more of ${turn.text}?`)
        },
        { log, push: { fetch }, recovery: 'resume' },
      )
      const begin = async (principal: Principal, text: string, contextId: string) => {
        const call = callOf({ principal, idempotencyKey: `key-${text}` })
        const task = taskOf(await service.sendMessage({ message: messageOf(text, { contextId }) }, call))
        await service.createPushConfig({ taskId: task.id, id: 'p', url: `https://${text}.test/` }, call)
        return task.id
      }
      const hers = await begin(alice, secret, 'hers')
      const his = await begin(bob, 'bobs-word', 'his')
      await until(async () => (await log.orphans(10)).length === 0)
      const generation = (await log.head(hers))?.generation
      expect(await erase(request)).toEqual({
        tasks: [{ taskId: hers, contextId: 'hers', events: generation }],
        pushConfigs: 1,
      })
      const call = callOf({ principal: bob })
      expect(JSON.stringify(await service.getTask({ taskId: his }, call))).toContain('about bobs-word')
      expect((await service.listPushConfigs({ taskId: his }, call)).configs).toHaveLength(1)
      for (const read of [service.getTask, service.listPushConfigs]) {
        await expect(read({ taskId: hers }, callOf({ principal: alice }))).rejects.toMatchObject({
          code: 'task-not-found',
        })
      }
      expect(await erase(request)).toEqual({ tasks: [], pushConfigs: 0 })
      await drain(0)
      const stored = await dump()
      expect(/kept|bobs-word/.test(stored)).toBe(true)
      for (const text of [secret, hers]) expect(stored.includes(text)).toBe(false)
    },
  )
})
