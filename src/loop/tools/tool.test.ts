import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type } from 'arktype'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import * as v from 'valibot'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { lastToolResults, scriptedModel, textReply, toolCalls } from '../../../test/support/models/scripted-model.ts'
import { skill } from '../../core/agent/skill.ts'
import { typeBoxSchema } from '../../core/agent/standard-schema.ts'
import { createAgentLoop } from '../agent-loop.ts'
import { clientTool, localTool } from './tool.ts'

const invocation = { taskId: 't', contextId: 'c' }
const typeBox = typeBoxSchema(Compile(Type.Object({ n: Type.Number() })))
const jsonSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }

it.each<[string, StandardSchemaV1<{ n: number }>, object]>([
  ['zod', z.object({ n: z.number() }), {}],
  ['valibot', v.object({ n: v.number() }), { inputJsonSchema: jsonSchema }],
  ['arktype', type({ n: 'number' }), {}],
  ['typebox', typeBox, {}],
])('a %s schema validates arguments and describes them to the model', async (_, input, more) => {
  const half = localTool({ name: 'half', input, ...more, run: ({ n }) => ({ half: n / 2 }) })
  const scripted = scriptedModel(toolCalls(['half', '{"n":4}'], ['half', '{"n":"four"}']), textReply('Done'))
  await createAgentLoop({ model: scripted, tools: [half] }).invokeSync([{ text: 'go' }], invocation)
  expect(scripted.doStreamCalls[0]?.tools).toMatchObject([{ name: 'half', inputSchema: jsonSchema }])
  expect(lastToolResults(scripted)).toEqual([
    { type: 'json', value: { half: 2 } },
    { type: 'error-text', value: expect.stringMatching(/^The arguments of "half" do not fit: .*\bn\b/) },
  ])
})

it('a schema that is not Standard Schema is refused with a hint', () => {
  const plain = Type.Object({ n: Type.Number() }) as unknown as StandardSchemaV1
  const run = () => 'half'
  expect(() => localTool({ name: 'half', input: plain, run })).toThrow('localTool(half): expected a schema of Standard')
  expect(() => clientTool({ name: 'half', input: plain })).toThrow('typeBoxSchema(Compile(…))')
  expect(() => skill({ id: 'half', name: 'Half', input: plain, run })).toThrow('skill(half).input: expected a schema')
})
