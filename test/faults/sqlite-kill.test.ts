import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { readAll, upTo } from '../../src/testing/stores/task-log/fixtures.ts'
import { newFile, startChild } from './sqlite-processes.ts'

test('acknowledged events survive kill -9, without gaps and in complete batches', async () => {
  const file = newFile()
  const acknowledged = new Map<string, number>()
  for (const round of upTo(6)) {
    const child = await startChild()
    child.start({ type: 'append-forever', file, tasks: 8 })
    while (child.reports.length < 100 * round) await sleep(1)
    child.kill()
    expect(await child.ended).toBe('SIGKILL')
    for (const report of child.reports) if (report.type === 'stored') acknowledged.set(report.taskId, report.generation)
  }

  const log = createSqliteLog({ file })
  for (const [taskId, generation] of acknowledged) {
    const events = await readAll(log, taskId)
    expect(events.length).toBeGreaterThanOrEqual(generation)
    expect(events.map((stored) => stored.generation)).toEqual(upTo(events.length))
    expect(events.length % 3).toBe(1)
    expect(await log.head(taskId)).toMatchObject({ generation: events.length })
  }
  await log.close()
})
