import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel, textReply, toolCalls } from '../../test/support/models/scripted-model.ts'
import { agent } from '../core/node/local-agent.node.ts'
import { createPair } from '../testing/pair.ts'
import { createAgentLoop } from './agent-loop.ts'
import { localTool } from './tools/tool.ts'

const add = localTool({ name: 'add', input: z.object({}), run: () => 3 })
const texts = (prompt: LanguageModelV4Prompt | undefined) =>
  prompt?.map(({ role, content }) => [
    role,
    typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : part.type)).join(''),
  ])

it('the prompt contains the messages of the context, including earlier tasks, without progress', async () => {
  const scripted = scriptedModel(toolCalls(['add', '{}']), textReply('It is ', 'three'), textReply('Four'))
  await using connection = await createPair(
    agent({ name: 'Looping' }, createAgentLoop({ model: scripted, tools: [add] })),
  )
  const conversation = connection.client.conversation()
  const first = await conversation.send('1 and 2?')
  const second = await conversation.send('And one more?')
  expect(second.task?.id).not.toBe(first.task?.id)
  expect(texts(scripted.doStreamCalls[2]?.prompt)).toEqual([
    ['user', '1 and 2?'],
    ['assistant', 'It is three'],
    ['user', 'And one more?'],
  ])
  await connection.client.send('Who are you?')
  expect(texts(scripted.doStreamCalls[3]?.prompt)).toEqual([['user', 'Who are you?']])
})

it('the prompt contains no history if historyTokens is 0', async () => {
  const scripted = scriptedModel(textReply('Hi'), textReply('Hi'))
  await using connection = await createPair(
    agent({ name: 'Looping' }, createAgentLoop({ model: scripted, historyTokens: 0 })),
  )
  const conversation = connection.client.conversation()
  await conversation.send('One')
  await conversation.send('Two')
  expect(texts(scripted.doStreamCalls[1]?.prompt)).toEqual([['user', 'Two']])
})

it('the prompt contains the newest messages that fit into historyTokens', async () => {
  const scripted = scriptedModel(textReply('Hi'))
  const message = (text: string) => ({ messageId: text, role: 'user' as const, parts: [{ text }] })
  const history = [message('old'.repeat(400)), message('new')]
  await createAgentLoop({ model: scripted, historyTokens: 100 }).invokeSync([{ text: 'now' }], {
    taskId: 'task',
    contextId: 'context',
    history,
  })
  expect(JSON.stringify(scripted.doStreamCalls[0]?.prompt)).toContain('"new"')
  expect(JSON.stringify(scripted.doStreamCalls[0]?.prompt)).not.toContain('oldold')
})
