import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type } from 'arktype'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import * as v from 'valibot'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel, textReply, toldTo, toolCalls } from '../../../test/support/models/scripted-model.ts'
import { skill } from '../../agent/skill.ts'
import { typeBoxSchema } from '../../agent/standard-schema.ts'
import { createAgentLoop } from '../agent-loop.ts'
import { clientTool, localTool } from './tool.ts'

const call = { taskId: 't', contextId: 'c' }
const ofTypeBox = typeBoxSchema(Compile(Type.Object({ n: Type.Number() })))
const told = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }

it.each<[string, StandardSchemaV1<{ n: number }>, object]>([
  ['zod', z.object({ n: z.number() }), {}],
  ['valibot', v.object({ n: v.number() }), { inputJsonSchema: told }],
  ['arktype', type({ n: 'number' }), {}],
  ['typebox', ofTypeBox, {}],
])('takes a schema of %s: arguments are checked by it, and the model is told of it', async (_, input, more) => {
  const half = localTool({ name: 'half', input, ...more, run: ({ n }) => ({ half: n / 2 }) })
  const asked = scriptedModel(toolCalls(['half', '{"n":4}'], ['half', '{"n":"four"}']), textReply('Done'))
  await createAgentLoop({ model: asked, tools: [half] }).invokeSync([{ text: 'go' }], call)
  expect(asked.doStreamCalls[0]?.tools).toMatchObject([{ name: 'half', inputSchema: told }])
  expect(toldTo(asked)).toEqual([
    { type: 'json', value: { half: 2 } },
    { type: 'error-text', value: expect.stringMatching(/^The arguments of "half" do not fit: .*\bn\b/) },
  ])
})

it('refuses what is no schema of the standard when it is made, and says what would be one', () => {
  const bare = Type.Object({ n: Type.Number() }) as unknown as StandardSchemaV1
  const run = () => 'half'
  expect(() => localTool({ name: 'half', input: bare, run })).toThrow('localTool(half): expected a schema of Standard')
  expect(() => clientTool({ name: 'half', input: bare })).toThrow('typeBoxSchema(Compile(…))')
  expect(() => skill({ id: 'half', name: 'Half', input: bare, run })).toThrow('skill(half).input: expected a schema')
})
