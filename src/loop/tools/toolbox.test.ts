import { expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel, textReply, toolCalls } from '../../../test/support/models/scripted-model.ts'
import { createAgentLoop } from '../agent-loop.ts'
import { localTool } from './tool.ts'
import type { ToolSource } from './toolbox.ts'

it('tools of a source are listed at each step, and the first of two with one name is used', async () => {
  const tool = (name: string) => localTool({ name, input: z.object({}), run: () => 'Done' })
  const steps = [[tool('one'), tool('fixed')], [tool('two')]]
  const source: ToolSource = { type: 'source', tools: async () => steps.shift() ?? [] }
  const scripted = scriptedModel(toolCalls(['one', '{}']), textReply('Done'))
  const problems: string[] = []
  const onError = (error: unknown) => problems.push(`${error}`)
  const loop = createAgentLoop({ model: scripted, tools: [tool('fixed'), source], onError })
  await loop.invokeSync([{ text: 'go' }], { taskId: 't', contextId: 'c' })
  const offered = scripted.doStreamCalls.map(({ tools = [] }) => tools.map(({ name }) => name))
  expect(offered).toEqual([
    ['fixed', 'one'],
    ['fixed', 'two'],
  ])
  expect(problems).toEqual([expect.stringContaining('Two tools are called fixed')])
})
