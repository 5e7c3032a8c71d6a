import { expect, it } from 'vitest'
import { z } from 'zod'
import { lastToolResults, scriptedModel, textReply, toolCalls } from '../../../test/support/models/scripted-model.ts'
import { createAgentLoop } from '../agent-loop.ts'
import { localTool } from './tool.ts'
import { partsResult } from './tool-result.ts'

it('the model receives the files and the error text of a parts result', async () => {
  const input = z.object({})
  const draw = localTool({
    name: 'draw',
    input,
    run: () => partsResult([{ text: 'Here' }, { raw: 'AAAA', mediaType: 'image/png' }, { url: 'https://a.example/b' }]),
  })
  const fail = localTool({ name: 'fail', input, run: () => partsResult([{ text: 'No ink' }], { isError: true }) })
  const scripted = scriptedModel(toolCalls(['draw', '{}'], ['fail', '{}']), textReply('Done'))
  await createAgentLoop({ model: scripted, tools: [draw, fail] }).invokeSync([{ text: 'go' }], {
    taskId: 't',
    contextId: 'c',
  })
  expect(lastToolResults(scripted)).toEqual([
    {
      type: 'content',
      value: [
        { type: 'text', text: 'Here' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
        {
          type: 'file',
          mediaType: 'application/octet-stream',
          data: { type: 'url', url: new URL('https://a.example/b') },
        },
      ],
    },
    { type: 'error-text', value: 'No ink' },
  ])
})
