import { expect, it } from 'vitest'
import { callOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred } from '../../../../test/support/async.ts'
import { simulateProcesses, statusTextOf } from '../../../../test/support/processes/simulated-processes.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import type { Task } from '../../protocol/model.ts'

/** Runs a turn that asks a question, and answers it after the code of the agent has changed. */
async function changeCode(before: AgentFunction, after: AgentFunction): Promise<Task> {
  const { start } = simulateProcesses()
  const first = start(before)
  const { id } = taskOf(await send(first.service, 'go'))
  first.kill()
  return taskOf(await send(start(after).service, 'yes', { taskId: id }))
}

const original: AgentFunction = async (turn) => {
  await turn.status('working', 'Reading')
  await turn.step('charge', () => 1)
  await turn.ask('Sure?')
  return 'done'
}

it.each<[string, string, AgentFunction]>([
  [
    'another text',
    'the journal has the status "working" ("Reading"), the code has the status "working" ("Writing")',
    async (turn) => {
      await turn.status('working', 'Writing')
    },
  ],
  [
    'an artifact instead of a status',
    'the journal has the status "working" ("Reading"), the code has the artifact "out" ("x")',
    (turn) => turn.artifact('out').close('x'),
  ],
  [
    'a step of another name',
    'the journal has the step "charge", the code has the step "charge-card"',
    async (turn) => {
      await turn.status('working', 'Reading')
      await turn.step('charge-card', () => {
        throw new Error('must not run')
      })
    },
  ],
  [
    'a step that is gone',
    'the journal has the step "charge", the code has its end',
    async (turn) => {
      await turn.status('working', 'Reading')
      await turn.ask('Sure?')
      return 'done'
    },
  ],
  [
    'an early end',
    'the journal has the status "input-required" ("Sure?"), the code has its end',
    async (turn) => {
      await turn.status('working', 'Reading')
      await turn.step('charge', () => 1)
      return 'done'
    },
  ],
])('a turn whose code differs from its journal fails with the first difference: %s', async (_, difference, code) => {
  const task = await changeCode(original, code)
  expect(task.status.state).toBe('failed')
  expect(statusTextOf(task)).toBe(
    `The code of this turn does not fit its journal any more. First difference: ${difference}.`,
  )
})

it('code may do more than its journal holds', async () => {
  const task = await changeCode(original, async (turn) => {
    await original(turn)
    await turn.step('receipt', () => 2)
    return 'done, with a receipt'
  })
  expect(statusTextOf(task)).toBe('done, with a receipt')
})

it('a replaying turn can be canceled', async () => {
  const { start } = simulateProcesses()
  const first = start(original)
  const { id } = taskOf(await send(first.service, 'go'))
  first.kill()
  const started = deferred()
  const second = start(async (turn) => {
    started.resolve()
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
  })
  const answered = send(second.service, 'yes', { taskId: id })
  await started.promise
  await second.service.cancelTask({ taskId: id }, callOf())
  expect(taskOf(await answered).status.state).toBe('canceled')
})

it('concurrent events are replayed in any order', async () => {
  const code =
    (slow: string): AgentFunction =>
    async (turn) => {
      const emit = async (text: string) => {
        if (text === slow) await new Promise((resolve) => setTimeout(resolve, 20))
        await turn.status('working', text)
      }
      await Promise.all([emit('one'), emit('two')])
      return `done, ${(await turn.ask('Sure?')).text}`
    }
  expect(statusTextOf(await changeCode(code('two'), code('one')))).toBe('done, yes')
})
