import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

function createAsking(answersByContext = true, log = createMemoryLog()) {
  const { service } = createTestRuntime(
    async (turn) => (turn.text.startsWith('ask') ? `You said ${(await turn.ask('What?')).text}` : 'nothing asked'),
    { answersByContext, log },
  )
  const say = (text: string, contextId: string, id = 'ann') =>
    service.sendMessage({ message: messageOf(text, { contextId }) }, callOf({ principal: { id } }))
  return { say }
}

it('a message without a task answers the only open question of its context', async () => {
  const { say } = createAsking()
  const asked = taskOf(await say('ask', 'c'))
  expect(asked.status.state).toBe('input-required')
  const answered = taskOf(await say('blue', 'c'))
  expect(answered.id).toBe(asked.id)
  expect(answered.status.message?.parts).toEqual([{ text: 'You said blue' }])
  expect(await say('hello', 'c')).toMatchObject({ message: { parts: [{ text: 'nothing asked' }] } })
})

it('two open questions of a context are an error that names both tasks', async () => {
  const log = createMemoryLog()
  const { say } = createAsking(false, log)
  const ids = [taskOf(await say('ask', 'c')).id, taskOf(await say('ask', 'c')).id]
  const answer = createAsking(true, log).say('blue', 'c')
  await expect(answer).rejects.toThrow('context c has open questions in the tasks')
  for (const id of ids) await expect(answer).rejects.toThrow(id)
})

it('a question of another caller is not answered', async () => {
  const { say } = createAsking()
  await say('ask', 'c')
  expect(await say('blue', 'c', 'bob')).toMatchObject({ message: { parts: [{ text: 'nothing asked' }] } })
})
