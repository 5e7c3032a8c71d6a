import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { TaskLog } from '../../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { createSqliteLog } from '../../../src/entries/sqlite.ts'
import { createTestRuntime, send, taskOf } from '../../support/agents/test-runtime.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Less than half of what 2,000 tasks of this test take. */
const allowedGrowth = 6 * 2 ** 20

const logs: readonly (readonly [string, () => Promise<TaskLog>])[] = [
  ['memory', async () => createMemoryLog({ keepEnded: 500 })],
  ['SQLite', async () => createSqliteLog({ file: join(await temporaryDirectory(), 'tasks.db') })],
]

describe.each(logs)('a runtime on the %s log', (_, open) => {
  it('a runtime takes no more memory after many tasks than after some', async () => {
    const log = await open()
    const { service, drain } = createTestRuntime(
      async (turn) => {
        await turn.artifact('answer').close(randomBytes(2_000).toString('hex'))
        await turn.status('completed')
      },
      { log },
    )
    onTestFinished(async () => {
      await drain(0)
      await log.close()
    })
    const sendMany = async (count: number) => {
      for (let sent = 0; sent < count; sent += 50) {
        const tasks = await Promise.all(Array.from({ length: 50 }, () => send(service, 'go')))
        for (const task of tasks) expect(taskOf(task).status.state).toBe('completed')
      }
    }
    await sendMany(1_000)
    const before = await heapUsed()
    await sendMany(2_000)
    expect((await heapUsed()) - before).toBeLessThan(allowedGrowth)
  })
})

async function heapUsed(): Promise<number> {
  for (let pass = 0; pass < 3; pass++) {
    collectGarbage()
    // Finalizers run between two passes.
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return process.memoryUsage().heapUsed
}
