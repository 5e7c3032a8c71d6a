import { join } from 'node:path'
import { Role, type Task, TaskState } from '@a2a-js/sdk'
import { ServerCallContext } from '@a2a-js/sdk/server'
import { DatabasePushNotificationStore, DatabaseTaskStore } from '@a2a-js/sdk/server/database'
import { sql } from 'kysely'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { LogWithWebhooks } from '../../src/core/push/push.ts'
import { createMysqlLog } from '../../src/entries/mysql.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { callOf, createTestRuntime, messageOf, taskOf } from '../support/agents/test-runtime.ts'
import { hasMariadb } from '../support/mariadb/database.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { shareCli } from '../support/processes/cli.ts'
import { openSdkMysql, openSdkPostgres, openSdkSqlite, type SdkTestDatabase } from '../support/sdk/sdk-databases.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const cli = shareCli()
startServerFirst()

const engines: readonly (readonly [string, () => Promise<SdkTestDatabase>])[] = [
  ['SQLite', openSdkSqlite],
  ['PostgreSQL', openSdkPostgres],
  ...(hasMariadb ? [['MySQL', openSdkMysql] as const] : []),
]

const alice = new ServerCallContext({
  user: { userName: 'alice', isAuthenticated: true },
  tenant: 'acme',
  requestedVersion: '1.0',
})
/** Not long ago, so that retention keeps the tasks. */
const timestamp = new Date(Date.now() - 60_000).toISOString()

const nobody = new ServerCallContext({ requestedVersion: '0.3' })

/** Stores tasks and push configurations as an agent of the SDK does. */
async function fill({ db }: SdkTestDatabase): Promise<void> {
  const [tasks, pushConfigs] = [new DatabaseTaskStore(db), new DatabasePushNotificationStore(db)]
  const question = message(Role.ROLE_AGENT, 'q', 'Which one?')
  await tasks.save(
    task('done', TaskState.TASK_STATE_COMPLETED, {
      history: [message(Role.ROLE_USER, 'm1', 'Tea'), question, message(Role.ROLE_USER, 'm2', 'Green')],
      artifacts: [
        {
          ...{ artifactId: 'a1', name: 'answer', description: '', metadata: { n: 1 }, extensions: [] },
          parts: [text('12 €'), { ...text(''), content: { $case: 'data', value: { price: 12 } } }],
        },
      ],
      metadata: { source: 'sdk' },
    }),
    alice,
  )
  await tasks.save(
    task('asked', TaskState.TASK_STATE_INPUT_REQUIRED, {
      history: [message(Role.ROLE_USER, 'm3', 'Tea'), question],
      status: { state: TaskState.TASK_STATE_INPUT_REQUIRED, message: question, timestamp },
    }),
    alice,
  )
  await tasks.save(
    task('begun', TaskState.TASK_STATE_WORKING, { history: [message(Role.ROLE_USER, 'm4', 'Rice')] }),
    nobody,
  )
  await pushConfigs.save('asked', alice, {
    ...{ tenant: 'acme', id: 'hook', taskId: 'asked', url: 'https://receiver.example/hook', token: 'secret' },
    authentication: { scheme: 'Bearer', credentials: 'credential' },
  })
}

describe.each(engines)('the database of the official SDK in %s', (_, openDatabase) => {
  it('is copied once, whatever is there, and a dry run copies nothing', async () => {
    const database = await openDatabase()
    await fill(database)
    const args = ['db', 'import-sdk', ...database.target, '--from', database.reference, '-o', 'json']
    const dry = await cli.run([...args, '--dry-run'])
    expect(dry).toMatchObject({ code: 0, stderr: '' })
    const all = { found: 3, copied: 3, present: 0 }
    expect(dry.json()).toMatchObject({ tasks: all, pushConfigs: { found: 1, copied: 1 }, isDryRun: true })
    const first = await cli.run(args)
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.json()).toMatchObject({ tasks: all, pushConfigs: { found: 1, copied: 1, present: 0 }, problems: [] })
    const again = await cli.run(args)
    expect(again.json()).toMatchObject({ tasks: { copied: 0, present: 3 }, pushConfigs: { copied: 0, present: 1 } })

    const { log, close } = await openTarget(database.target)
    // Only the task that was working is left for recovery.
    expect((await log.orphans(10)).map(({ taskId, owner }) => `${taskId} ${owner}`)).toEqual(['begun anonymous'])
    const { service, drain } = createTestRuntime(async (turn) => `${turn.text} it is`, { log, push: { fetch } })
    onTestFinished(async () => {
      await drain(0)
      await log.close()
      await close()
    })
    const call = callOf({ principal: { id: 'alice', tenant: 'acme' } })
    const done = await service.getTask({ taskId: 'done' }, call)
    expect(done).toMatchObject({
      contextId: 'c-done',
      status: { state: 'completed', timestamp },
      artifacts: [{ artifactId: 'a1', name: 'answer', parts: [{ text: '12 €' }, { data: { price: 12 } }] }],
      metadata: { source: 'sdk' },
    })
    expect(done.history.map(({ messageId, role }) => `${messageId} ${role}`)).toEqual(['m1 user', 'q agent', 'm2 user'])
    expect((await service.listTasks({}, call)).tasks.map(({ id }) => id).sort()).toEqual(['asked', 'done'])
    expect((await service.listPushConfigs({ taskId: 'asked' }, call)).configs).toMatchObject([
      { id: 'hook', url: 'https://receiver.example/hook', authentication: { scheme: 'Bearer' } },
    ])
    // A task that waits for its caller can be answered.
    const answered = await service.sendMessage({ message: messageOf('Black', { taskId: 'asked' }) }, call)
    expect(taskOf(answered).status.state).toBe('completed')
  })
})

describe('what cannot be copied', () => {
  it('is reported with its reason, and the rest is copied', async () => {
    const database = await openSdkSqlite()
    await fill(database)
    const { db, reference, target } = database
    await sql`UPDATE tasks SET history = '{' WHERE id = 'begun'`.execute(db)
    await sql`INSERT INTO tasks SELECT tenant, 'bob', id, context_id, status_last_updated, status_state, status, artifacts,
      history, metadata, protocol_version FROM tasks WHERE id = 'done'`.execute(db)
    await sql`INSERT INTO push_notification_configs VALUES ('', 'x', 'none', 'lost', '{"url":"https://a.example"}', '1.0')`.execute(
      db,
    )
    await sql`UPDATE tasks SET protocol_version = '9.9' WHERE id = 'asked'`.execute(db)
    const { code, ...result } = await cli.run(['db', 'import-sdk', ...target, '--from', reference, '-o', 'json'])
    expect(code).toBe(1)
    expect(result.json()).toMatchObject({
      tasks: { found: 4, copied: 1 },
      pushConfigs: { found: 2, copied: 0 },
      failed: 5,
    })
    expect(result.json().problems.sort()).toEqual([
      'Push configuration hook of task asked is not copied: the log has no such task of its owner.',
      'Push configuration lost of task none is not copied: the log has no such task of its owner.',
      'Task asked has the format 9.9; this version reads 1.0. Update parley-a2a.',
      'Task begun cannot be read: history is not JSON.',
      'Task done of bob is not copied: the log has a task with this id of another owner.',
    ])
  })

  it('is refused with what to do: no database, no table, no option', async () => {
    const { reference, target } = await openSdkSqlite()
    const run = (...args: readonly string[]) => cli.run(['db', 'import-sdk', ...target, ...args, '-o', 'json'])
    const [none, missing, other, wrong] = await Promise.all([
      run(),
      run('--from', join(await temporaryDirectory(), 'none.db')),
      run('--from', reference, '--tasks-table', 'agent_tasks'),
      run('--from', reference, '--tasks-table', 'a b'),
    ])
    expect([none, missing, other, wrong].map(({ code }) => code)).toEqual([2, 2, 2, 2])
    expect(none.json().error.message).toContain('Pass --from')
    expect(missing.json().error.message).toContain('There is no database')
    expect(other.json().error).toMatchObject({
      message: 'The database has no table agent_tasks.',
      hint: expect.stringContaining('--tasks-table'),
    })
    expect(wrong.json().error.message).toBe('a b is not the name of a table.')
  })
})

async function openTarget([place = '', , name = '']: readonly string[]): Promise<Target> {
  if (place.startsWith('mysql:')) {
    const pool = createPool(place)
    return { log: await createMysqlLog({ pool, prefix: name }), close: () => pool.end() }
  }
  if (!place.startsWith('postgres')) return { log: createSqliteLog({ file: place }), close: async () => {} }
  const pool = new pg.Pool({ connectionString: place })
  return { log: await createPostgresLog({ pool, schema: name }), close: () => pool.end() }
}

interface Target {
  readonly log: LogWithWebhooks
  close(): Promise<void>
}

/** Accepts all deliveries. */
const fetch = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })

function task(id: string, state: TaskState, more: Partial<Task>): Task {
  const status = { state, message: undefined, timestamp }
  return { id, contextId: `c-${id}`, status, artifacts: [], history: [], metadata: undefined, ...more }
}

function message(role: Role, messageId: string, content: string): Task['history'][number] {
  const rest = { contextId: '', taskId: '', metadata: undefined, extensions: [], referenceTaskIds: [] }
  return { ...rest, messageId, role, parts: [text(content)] }
}

function text(value: string): Task['history'][number]['parts'][number] {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
}
