import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Logger } from '../../src/core/base/logger.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { chunk, createTask, message } from '../../src/testing/stores/task-log/fixtures.ts'
import { until } from '../support/async.ts'
import { silentLogger } from '../support/logger.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { sendParams } from '../support/wire/wire-client.ts'
import { newFile } from './sqlite-processes.ts'

const locked = {
  code: 'unavailable',
  cause: { message: expect.stringMatching(/is locked by another process/) },
}

test('writes fail while another process holds the lock for too long, and work again afterwards', async () => {
  const file = newFile()
  const log = createSqliteLog({ file, patience: 200, logger: silentLogger })
  const taskId = await createTask(log)
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  await expect(log.append(taskId, 1, [message()], {})).rejects.toMatchObject(locked)
  expect(await log.read(taskId, 0)).toHaveLength(1)
  other.exec('ROLLBACK')
  other.close()
  expect(await log.append(taskId, 1, [message()], {})).toMatchObject({ type: 'stored' })
  await log.close()
})

test('a log that another process keeps locked can be closed', async () => {
  const file = newFile()
  const log = createSqliteLog({ file, logger: silentLogger })
  const taskId = await createTask(log)
  const other = new DatabaseSync(file)
  onTestFinished(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const appending = log.append(taskId, 1, [chunk('a')], { fence: 1 })
  const closing = log.close()
  await expect(appending).rejects.toMatchObject(locked)
  await expect(closing).rejects.toThrow(/is locked by another process/)
})

test('a server whose log another process keeps locked can be closed while a turn waits', async () => {
  const file = newFile()
  const log = createSqliteLog({ file, logger: silentLogger })
  onTestFinished(() => log.close().catch(() => {}))
  const other = new DatabaseSync(file)
  onTestFinished(() => other.close())
  const { server, wire } = await startTestServer(
    async (turn) => {
      await turn.status('working')
      other.exec('BEGIN IMMEDIATE')
      await turn.status('working', 'waits')
    },
    { log },
  )
  const configuration = { returnImmediately: true }
  expect((await wire.call('SendMessage', sendParams('go', { configuration }))).status).toBe(200)
  await server.close()
})

describe('a frozen process that holds the lock', () => {
  /** Another process in a transaction, stopped by a signal. */
  async function freeze(file: string): Promise<{ readonly pid: number; continue(): void }> {
    const script = `
      const { DatabaseSync } = require('node:sqlite')
      const db = new DatabaseSync(process.argv[1])
      db.exec('BEGIN IMMEDIATE')
      process.stdin.once('data', () => { db.exec('COMMIT'); db.close(); process.exit() })
      console.log('locked')`
    const child: ChildProcess = spawn(process.execPath, ['-e', script, file], { stdio: ['pipe', 'pipe', 'ignore'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    if (child.stdout) await once(child.stdout, 'data')
    child.kill('SIGSTOP')
    return {
      pid: child.pid ?? 0,
      continue() {
        child.kill('SIGCONT')
        child.stdin?.write('go')
      },
    }
  }

  test('turns wait for it, the log says so, and callers get 503 until it is released', async () => {
    const file = newFile()
    const lines: { readonly fields: object; readonly text: string }[] = []
    const record = (fields: object, text: string) => void lines.push({ fields, text })
    const logger: Logger = { ...silentLogger, warn: record, info: record }
    const log = createSqliteLog({ file, patience: 1_500, logger })
    onTestFinished(() => log.close())
    let freezing: ReturnType<typeof freeze> | undefined
    const { wire } = await startTestServer(
      async (turn) => {
        if (turn.text !== 'work') return 'hello'
        await turn.status('working')
        freezing = freeze(file)
        await freezing
        await turn.artifact('report').close('stored')
        return 'done'
      },
      { log, logger: silentLogger },
    )
    const working = wire.sendTask('work')
    await until(() => freezing !== undefined)
    const frozen = await freezing
    expect(await wire.call('SendMessage', sendParams('hi'))).toMatchObject({ status: 503, error: { code: -32603 } })
    const [line] = lines
    expect(line?.text).toMatch(/^writes wait for another process that has locked the task log/)
    expect(line?.fields).toMatchObject({ file, ...(process.platform === 'linux' && { holders: [frozen?.pid] }) })
    frozen?.continue()
    const { status, artifacts } = await working
    expect(status.state).toBe('TASK_STATE_COMPLETED')
    expect(artifacts?.[0]?.parts).toEqual([{ text: 'stored' }])
    expect(lines.at(-1)?.text).toBe('the task log is no longer locked by another process')
  })
})
