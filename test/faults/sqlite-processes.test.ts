import { expect, onTestFinished, test } from 'vitest'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { createTask, readAll, readGenerations, upTo } from '../../src/testing/stores/task-log/fixtures.ts'
import { newFile, startChild } from './sqlite-processes.ts'

test('processes that start together on a new file create it once and can all use it', async () => {
  for (const round of upTo(5)) {
    const file = newFile()
    const children = await Promise.all(upTo(4).map(startChild))
    for (const [index, child] of children.entries()) child.start({ type: 'create', file, taskId: `${round}-${index}` })
    expect(await Promise.all(children.map(({ ended }) => ended))).toEqual([0, 0, 0, 0])
    const log = open(file)
    for (const index of children.keys()) expect(await readGenerations(log, `${round}-${index}`)).toEqual([1])
  }
})

test('two processes that write to the same tasks neither lose nor repeat an event, and follow each other', async () => {
  const file = newFile()
  const log = open(file)
  const taskIds = [await createTask(log), await createTask(log), await createTask(log)]
  const count = 100
  const until = 1 + 2 * count
  const children = await Promise.all([startChild(), startChild()])
  for (const [index, child] of children.entries()) {
    child.start({ type: 'send-and-follow', file, taskIds, name: `p${index}`, count, until })
  }
  expect(await Promise.all(children.map(({ ended }) => ended))).toEqual([0, 0])

  for (const taskId of taskIds) {
    const events = await readAll(log, taskId)
    expect(events.map(({ generation }) => generation)).toEqual(upTo(until))
    const texts = events.slice(1).map(({ event }) => event.type === 'message' && event.message.parts[0])
    const sent = ['p0', 'p1'].flatMap((name) => upTo(count).map((number) => ({ text: `${name}:${number}` })))
    expect(new Set(texts.map((text) => JSON.stringify(text)))).toEqual(
      new Set(sent.map((text) => JSON.stringify(text))),
    )
  }
  for (const { reports } of children) {
    const seen = reports.filter((report) => report.type === 'seen')
    expect(seen).toEqual(taskIds.map((taskId) => ({ type: 'seen', taskId, generations: upTo(until) })))
  }
})

function open(file: string): TaskLog {
  const log = createSqliteLog({ file })
  onTestFinished(() => log.close())
  return log
}
