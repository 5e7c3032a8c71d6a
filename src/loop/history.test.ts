import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel, textReply, toolCalls } from '../../test/support/models/scripted-model.ts'
import { agent } from '../local-agent.node.ts'
import { pair } from '../testing/pair.ts'
import { createAgentLoop } from './agent-loop.ts'
import { localTool } from './tools/tool.ts'

const add = localTool({ name: 'add', input: z.object({}), run: () => 3 })
const texts = (prompt: LanguageModelV4Prompt | undefined) =>
  prompt?.map(({ role, content }) => [
    role,
    typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : part.type)).join(''),
  ])

it('gives the model what was said in the context, in earlier tasks of the caller too, but not how far it was', async () => {
  const asked = scriptedModel(toolCalls(['add', '{}']), textReply('It is ', 'three'), textReply('Four'))
  await using opened = await pair(agent({ name: 'Looping' }, createAgentLoop({ model: asked, tools: [add] })))
  const talk = opened.client.conversation()
  const first = await talk.send('1 and 2?')
  const second = await talk.send('And one more?')
  expect(second.task?.id).not.toBe(first.task?.id)
  expect(texts(asked.doStreamCalls[2]?.prompt)).toEqual([
    ['user', '1 and 2?'],
    ['assistant', 'It is three'],
    ['user', 'And one more?'],
  ])
  await opened.client.send('Who are you?')
  expect(texts(asked.doStreamCalls[3]?.prompt)).toEqual([['user', 'Who are you?']])
})

it('leaves the context out if there is no room for it', async () => {
  const asked = scriptedModel(textReply('Hi'), textReply('Hi'))
  await using opened = await pair(agent({ name: 'Looping' }, createAgentLoop({ model: asked, historyTokens: 0 })))
  const talk = opened.client.conversation()
  await talk.send('One')
  await talk.send('Two')
  expect(texts(asked.doStreamCalls[1]?.prompt)).toEqual([['user', 'Two']])
})
