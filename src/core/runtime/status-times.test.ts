import { expect, it } from 'vitest'
import { callOf, messageOf, send, taskOf } from '../../../test/support/agents/test-runtime.ts'
import { until } from '../../../test/support/async.ts'
import { never, simulateProcesses } from '../../../test/support/processes/simulated-processes.ts'
import type { AgentImplementation } from '../agent/agent-function.ts'
import { systemClock } from '../base/clock.ts'
import type { TaskState } from '../protocol/model.ts'

const hour = 3_600_000

/** Two processes with one log. The clock of the first goes back by an hour with every look; the second is a day behind. */
function startProcesses(run: AgentImplementation, leaseTtl = 60_000) {
  const { start, log } = simulateProcesses({ recovery: 'fail', leaseTtl })
  let looks = 0
  const one = start(run, { clock: { ...systemClock, now: () => Date.now() - hour * looks++ } })
  const other = start(run, { clock: { ...systemClock, now: () => Date.now() - 24 * hour } })
  return {
    one: one.service,
    other: other.service,
    kill: one.kill,
    reach: (taskId: string, state: TaskState) => until(async () => (await log.head(taskId))?.phase === state),
    async expectOrder(taskId: string, states: readonly string[]): Promise<void> {
      const events = (await log.read(taskId, 0)).map(({ event }) => event)
      const statuses = events.flatMap((event) => (event.type === 'status' ? [event.status] : []))
      expect(statuses.map(({ state }) => state)).toEqual(states)
      const times = statuses.map(({ timestamp = '' }) => timestamp)
      expect(times).toEqual(times.toSorted())
      expect(times).not.toContain('')
    },
  }
}

it.each([true, false])(
  'times of a task whose clock is set back do not go back (returnImmediately: %s)',
  async (early) => {
    const { one, reach, expectOrder } = startProcesses(async function* (turn) {
      await turn.status('working', 'A')
      yield { type: 'status', status: { state: 'working', timestamp: '2001-01-01T00:00:00.000Z' } }
      await turn.status('working', 'B')
    })
    const { id } = taskOf(await send(one, 'go', { returnImmediately: early }))
    await reach(id, 'completed')
    await expectOrder(id, ['submitted', 'working', 'working', 'working', 'completed'])
  },
)

it.each(['pause', 'ask'])('times of a task do not go back when another replica stores the answer (%s)', async (how) => {
  const { one, other, reach, expectOrder } = startProcesses(async (turn) => {
    if (how === 'ask') await turn.ask('Which?')
    else if (turn.text === 'go') return await turn.status('input-required', 'Which?')
    return 'Done'
  })
  const { id } = taskOf(await send(one, 'go'))
  const answer = messageOf('this', { taskId: id })
  await other.sendMessage({ message: answer }, callOf())
  await reach(id, 'completed')
  await expectOrder(id, ['submitted', 'input-required', 'working', 'completed'])
})

it('times of a task do not go back when another replica cancels it', async () => {
  const { one, other, expectOrder } = startProcesses((turn) => turn.status('input-required', 'Which?'))
  const { id } = taskOf(await send(one, 'go'))
  await other.cancelTask({ taskId: id }, callOf())
  await expectOrder(id, ['submitted', 'input-required', 'canceled'])
})

it('times of a task do not go back when another replica ends it', async () => {
  const { one, kill, reach, expectOrder } = startProcesses(async (turn) => {
    await turn.status('working', 'A')
    await never()
  }, 200)
  const { id } = taskOf(await send(one, 'go', { returnImmediately: true }))
  await reach(id, 'working')
  kill()
  await reach(id, 'failed')
  await expectOrder(id, ['submitted', 'working', 'failed'])
})
