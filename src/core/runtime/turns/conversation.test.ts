import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf } from '../../../../test/support/agents/test-runtime.ts'
import type { Turn } from '../../agent/turn.ts'
import { textOf } from '../../protocol/model.ts'

function createListener(answer: (turn: Turn) => Promise<string>) {
  const heard: string[][] = []
  const { service } = createTestRuntime(async (turn) => {
    heard.push((await turn.conversation()).map((message) => `${message.role}: ${textOf(message)}`))
    return await answer(turn)
  })
  const say = (text: string, contextId: string, id = 'ann') =>
    service.sendMessage({ message: messageOf(text, { contextId }) }, callOf({ principal: { id } }))
  return { heard, say }
}

it('a conversation has the messages and answers of earlier tasks of the same context and caller', async () => {
  const { heard, say } = createListener(async (turn) => {
    await turn.status('working', 'thinking')
    return `re ${turn.text}`
  })
  await say('one', 'c')
  await say('two', 'c')
  await say('other context', 'd')
  await say('other caller', 'c', 'bob')
  await say('three', 'c')
  const first = ['user: one', 'agent: thinking', 'agent: re one']
  expect(heard).toEqual([[], first, [], [], [...first, 'user: two', 'agent: thinking', 'agent: re two']])
})

it('an agent that reads the conversation and only returns its answer remembers it', async () => {
  const { heard, say } = createListener(async (turn) => `re ${turn.text}`)
  await say('one', 'c')
  await say('two', 'c')
  expect(heard).toEqual([[], ['user: one', 'agent: re one']])
})

it('a conversation is cut to its newest 256 KiB', async () => {
  const { heard, say } = createListener(async (turn) => {
    await turn.status('working')
    return `re ${turn.text.slice(0, 1)}`
  })
  for (const name of ['a', 'b', 'c']) await say(name.repeat(100_000), 'c')
  await say('d', 'c')
  expect(heard.at(-1)?.map((text) => text.slice(0, 9))).toEqual([
    'agent: re',
    'user: bbb',
    'agent: re',
    'user: ccc',
    'agent: re',
  ])
})
