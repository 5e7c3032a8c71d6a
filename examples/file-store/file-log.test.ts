import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TaskLog } from 'parley-a2a/stores'
import { type TestStorage, taskLogTests } from 'parley-a2a/testing/stores'
import { createFileLog } from './file-log.ts'

async function createStorage(): Promise<TestStorage<TaskLog> & { readonly file: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'file-log-'))
  const file = join(directory, 'tasks.jsonl')
  const opened: TaskLog[] = []
  return {
    file,
    async open() {
      const log = createFileLog(file)
      opened.push(log)
      return log
    },
    async cleanup() {
      for (const log of opened) await log.close()
      rmSync(directory, { recursive: true })
    },
  }
}

for (const { name, run } of taskLogTests) test(name, () => run(createStorage))

test('a new process continues where the last one was killed', async () => {
  const { open, cleanup, file } = await createStorage()
  const log = await open()
  const task = { taskId: 't', contextId: 'c', owner: 'alice' }
  const events = [{ type: 'status', status: { state: 'working' } }] as const
  await log.create(task, events, { lease: { holder: 'one', ttl: 60_000 }, claims: [{ key: 'k', digest: 'd' }] })
  await log.close()
  appendFileSync(file, '{"taskId":"t","sta')
  const next = await open()
  assert.deepEqual(await next.read('t', 0), [{ generation: 1, event: events[0] }])
  assert.deepEqual(await next.claimed('alice', 'k'), { digest: 'd', taskId: 't', generation: 1 })
  // The lease of the killed process has ended, so that a new one can take over its task.
  assert.deepEqual(
    (await next.orphans(10)).map(({ taskId }) => taskId),
    ['t'],
  )
  assert.deepEqual(await next.acquire('t', { holder: 'two', ttl: 60_000 }), { fence: 2 })
  await cleanup()
})
