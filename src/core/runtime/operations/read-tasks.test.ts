import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'

it('historyLength limits the history', async () => {
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working', 'a')
    await turn.status('working', 'b')
    return 'c'
  })
  const lengthOf = async (historyLength?: number) => taskOf(await send(service, 'x', { historyLength })).history.length
  expect([await lengthOf(), await lengthOf(0), await lengthOf(1), await lengthOf(9)]).toEqual([3, 0, 1, 3])
  const task = taskOf(await send(service, 'x'))
  expect((await service.getTask({ taskId: task.id, historyLength: 2 }, callOf())).history).toEqual(
    task.history.slice(-2),
  )
})

it('tasks are listed by state and context, in pages, newest first', async () => {
  const { service } = createTestRuntime((turn) =>
    turn.text === 'ask' ? turn.requireInput('?') : turn.status('completed'),
  )
  for (let n = 0; n < 7; n++) {
    const message = messageOf(n % 2 ? 'ask' : 'do', { contextId: n < 4 ? 'one' : 'two' })
    await service.sendMessage({ message }, callOf())
  }
  const seen: string[] = []
  let pageToken: string | undefined
  do {
    const page = await service.listTasks({ pageSize: 3, pageToken }, callOf())
    expect(page).toMatchObject({ totalSize: 7, pageSize: 3 })
    seen.push(...page.tasks.map(({ id }) => id))
    pageToken = page.nextPageToken
  } while (pageToken)
  expect(new Set(seen).size).toBe(7)
  expect((await service.listTasks({ contextId: 'one' }, callOf())).totalSize).toBe(4)
  expect((await service.listTasks({ state: 'input-required' }, callOf())).totalSize).toBe(3)
  const { nextPageToken } = await service.listTasks({ pageSize: 1 }, callOf())
  const foreign = service.listTasks({ pageSize: 1, pageToken: nextPageToken, contextId: 'one' }, callOf())
  await expect(foreign).rejects.toMatchObject({ code: 'invalid-params' })
  await expect(service.listTasks({ pageToken: 'junk' }, callOf())).rejects.toMatchObject({ code: 'invalid-params' })
})

it('a list has artifacts and history only on request', async () => {
  const { service } = createTestRuntime((turn) => turn.artifact('x').close('y'))
  await send(service, 'x')
  const brief = await service.listTasks({}, callOf())
  expect(brief.tasks[0]).toMatchObject({ artifacts: [], history: [], status: { state: 'completed' } })
  const full = await service.listTasks({ includeArtifacts: true, historyLength: 5 }, callOf())
  expect(full.tasks[0]?.artifacts).toHaveLength(1)
  expect(full.tasks[0]?.history).toHaveLength(1)
})
