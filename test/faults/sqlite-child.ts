import { follow } from '../../src/core/tasks/follow.ts'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { chunk, createTask, lease, message, newTask } from '../../src/testing/stores/task-log/fixtures.ts'
import type { Report, Work } from './sqlite-processes.ts'

/** A separate process that does one piece of work on a log and reports it. Started by `startChild`. */
process.on('message', async (work: Work) => {
  const log = createSqliteLog({ file: work.file })
  await run(log, work)
  await log.close()
  process.disconnect()
})
report({ type: 'ready' })

async function run(log: TaskLog, work: Work): Promise<void> {
  switch (work.type) {
    case 'create':
      await log.create(newTask({ taskId: work.taskId }), [message()], { lease })
      return
    case 'send-and-follow': {
      const seen = Promise.all(work.taskIds.map((taskId) => followUntil(log, taskId, work.until)))
      await Promise.all(work.taskIds.map((taskId) => send(log, taskId, work.name, work.count)))
      for (const [index, generations] of (await seen).entries()) {
        report({ type: 'seen', taskId: work.taskIds[index] ?? '', generations })
      }
      return
    }
    case 'append-forever':
      await Promise.all(Array.from({ length: work.tasks }, () => appendForever(log)))
  }
}

async function send(log: TaskLog, taskId: string, name: string, count: number): Promise<void> {
  let after = 1
  for (let number = 1; number <= count; ) {
    const appended = await log.append(taskId, after, [message(`${name}:${number}`)], {})
    if (appended.type === 'stored') number++
    if (appended.type === 'stored' || appended.type === 'behind') after = appended.generation
  }
}

async function followUntil(log: TaskLog, taskId: string, last: number): Promise<readonly number[]> {
  const generations: number[] = []
  for await (const { generation } of follow(log, taskId, 0, new AbortController().signal)) {
    generations.push(generation)
    if (generation === last) break
  }
  return generations
}

/** Appends three events at a time, which must be stored together or not at all. */
async function appendForever(log: TaskLog): Promise<void> {
  const taskId = await createTask(log)
  report({ type: 'stored', taskId, generation: 1 })
  for (let after = 1; ; after += 3) {
    const events = ['first', 'second', 'third'].map((text) => chunk(`${after}:${text}`))
    const appended = await log.append(taskId, after, events, { fence: 1 })
    if (appended.type !== 'stored') throw new Error(`unexpected: ${appended.type}`)
    report({ type: 'stored', taskId, generation: appended.generation })
  }
}

function report(message: Report): void {
  process.send?.(message)
}
