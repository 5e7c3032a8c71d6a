import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type } from 'arktype'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import * as v from 'valibot'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../test/support/agents/test-runtime.ts'
import { until } from '../../../test/support/async.ts'
import type { Json } from '../base/json.ts'
import { inputRequestIn, toolResult } from '../protocol/extensions/client-tools.ts'
import type { Part, Task } from '../protocol/model.ts'
import type { AgentFunction } from './agent-function.ts'

function standard(validate: StandardSchemaV1['~standard']['validate']): StandardSchemaV1 {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

const textsIn = ({ status }: Task) => status.message?.parts.map((part) => ('text' in part ? part.text : ''))

describe.each(['fail', 'resume'] as const)('turn.ask with the recovery policy %s', (recovery) => {
  function startRuntime(run: AgentFunction) {
    const runtime = createTestRuntime(run, { recovery, leaseTtl: 200, cancelGrace: 20 })
    onTestFinished(() => runtime.drain(0))
    const answer = async (taskId: string, ...parts: Part[]) =>
      taskOf(await runtime.service.sendMessage({ message: messageOf('', { taskId, parts }) }, callOf()))
    return { ...runtime, answer }
  }

  const Trip = z.object({ to: z.string(), nights: z.number().min(1) })
  const travel: AgentFunction = async (turn) => {
    const trip = await turn.ask('Where to?', { schema: Trip })
    return `${trip.nights} nights in ${trip.to}`
  }

  it('several questions are asked one after the other and answered together', async () => {
    const { service, answer } = startRuntime(async (turn) => {
      const [trip, why] = await turn.ask([{ question: 'Where to?', schema: Trip }, { question: 'Why?' }])
      return `${trip.nights} nights in ${trip.to}: ${why.text}; ${(await turn.ask([])).length}`
    })
    const { id } = taskOf(await send(service, 'go'))
    expect(textsIn(await answer(id, { text: 'home' }))?.[0]).toBe('Where to?')
    expect(textsIn(await answer(id, { data: { to: 'Oslo', nights: 2 } }))).toEqual(['Why?'])
    expect(textsIn(await answer(id, { text: 'work' }))).toEqual(['2 nights in Oslo: work; 0'])
  })

  it('turn.ask returns the validated data of the answer', async () => {
    const { service, answer } = startRuntime(travel)
    const { id } = taskOf(await send(service, 'go'))
    expect(textsIn(await answer(id, { data: { to: 'Oslo', nights: 2 } }))).toEqual(['2 nights in Oslo'])
  })

  it('an answer text that is JSON is parsed', async () => {
    const { service, answer } = startRuntime(travel)
    const { id } = taskOf(await send(service, 'go'))
    expect(textsIn(await answer(id, { text: '{"to":"Rome","nights":1}' }))).toEqual(['1 nights in Rome'])
  })

  it('an invalid answer is asked for again, with the problem', async () => {
    const { service, answer } = startRuntime(travel)
    const { id } = taskOf(await send(service, 'go'))
    const again = await answer(id, { data: { to: 'Oslo', nights: 0 } })
    expect(again.status.state).toBe('input-required')
    expect(textsIn(again)?.[0]).toBe('Where to?')
    expect(textsIn(again)?.[1]).toMatch(/^The last answer does not fit: nights: .*Please answer again\.$/)
    expect(textsIn(await answer(id, { text: 'a nice place' }))?.[1]).toMatch(/does not fit/)
    expect(textsIn(await answer(id, { data: { to: 'Oslo', nights: 3 } }))).toEqual(['3 nights in Oslo'])
  })

  /** The id of the request that the task waits on. */
  const requestIn = ({ status }: Task) => `${inputRequestIn(status.message)?.requestId}`

  it.each<[string, Json, Json, string]>([
    ['a wrapped text', { value: 'key-123' }, 'key-123', 'key-123'],
    ['a wrapped object', { value: { a: 1 } }, { a: 1 }, '{"a":1}'],
    ['a wrapped null', { value: null }, null, 'null'],
    ['a plain text', 'key-123', 'key-123', 'key-123'],
    ['an object with more members', { value: 1, unit: 'm' }, { value: 1, unit: 'm' }, '{"value":1,"unit":"m"}'],
  ])('the value of an answer is the result of its tool result: %s', async (_, result, value, text) => {
    let answered: unknown
    const { service, answer } = startRuntime(async (turn) => {
      const { value, text } = await turn.ask('Key?')
      answered = { value, text }
      return 'done'
    })
    const asked = taskOf(await send(service, 'go'))
    const part = { data: { toolUseId: requestIn(asked), result }, mediaType: toolResult }
    await answer(asked.id, { text: 'Here is the requested input:' }, part)
    expect(answered).toEqual({ value, text })
  })

  it('an answer without a tool result has its data or its text as value', async () => {
    const answers: unknown[] = []
    const { service, answer } = startRuntime(async (turn) => {
      const { value, text } = await turn.ask('Which?')
      answers.push({ value, text })
      return 'done'
    })
    const first = taskOf(await send(service, 'go'))
    await answer(first.id, { text: 'blue' })
    const second = taskOf(await send(service, 'go'))
    await answer(second.id, { text: 'as data' }, { data: ['blue'] })
    expect(answers).toEqual([
      { value: 'blue', text: 'blue' },
      { value: ['blue'], text: 'as data' },
    ])
  })

  it.each<[string, StandardSchemaV1, Json]>([
    ['a string', z.string(), { value: 'key-123' }],
    ['an object with a member of the name value', z.object({ value: z.string() }), { value: 'key-123' }],
    ['an object', z.object({ key: z.string() }), { value: { key: 'key-123' } }],
  ])('a schema of %s validates a wrapped result', async (_, schema, result) => {
    const { service, answer } = startRuntime(async (turn) => JSON.stringify(await turn.ask('Key?', { schema })))
    const asked = taskOf(await send(service, 'go'))
    const part = { data: { toolUseId: requestIn(asked), result }, mediaType: toolResult }
    const done = await answer(asked.id, part)
    expect(done.status.state).toBe('completed')
    expect(textsIn(done)?.[0]).toContain('key-123')
  })

  it('a string schema gets the text unparsed', async () => {
    const { service, answer } = startRuntime(async (turn) =>
      JSON.stringify(await turn.ask('Room?', { schema: z.string() })),
    )
    const { id } = taskOf(await send(service, 'go'))
    expect(textsIn(await answer(id, { text: '42' }))).toEqual(['"42"'])
  })

  const Sure = Compile(Type.Union([Type.Literal('yes'), Type.Literal('no')]))

  it.each<[string, StandardSchemaV1]>([
    ['valibot', v.pipe(v.string(), v.regex(/^(yes|no)$/, 'yes or no'))],
    ['arktype', type("'yes' | 'no'")],
    ['zod', z.enum(['yes', 'no'])],
    // TypeBox schemas are not Standard Schemas by themselves.
    ['TypeBox', standard((value) => (Sure.Check(value) ? { value } : { issues: Sure.Errors(value) }))],
  ])('schemas of %s validate answers', async (_, schema) => {
    const { service, answer } = startRuntime(async (turn) => `${await turn.ask('Sure?', { schema })}`)
    const { id } = taskOf(await send(service, 'go'))
    expect((await answer(id, { text: 'perhaps' })).status.state).toBe('input-required')
    expect(textsIn(await answer(id, { text: 'yes' }))).toEqual(['yes'])
  })

  it('an expired question fails the task with a stored reason', async () => {
    const expiresAt = new Date(Date.now() + 60)
    const { service } = startRuntime(async (turn) => {
      await turn.ask('Sure?', { expiresAt: expiresAt.toISOString() })
      return 'never'
    })
    const { id } = taskOf(await send(service, 'go'))
    await until(async () => (await service.getTask({ taskId: id }, callOf())).status.state === 'failed')
    const task = await service.getTask({ taskId: id }, callOf())
    expect(textsIn(task)).toEqual([
      `The question was not answered by ${expiresAt.toISOString()}, so the task ends here.`,
    ])
  })

  it('a question with an invalid expiresAt is rejected', async () => {
    let problem: unknown
    const { service } = startRuntime(async (turn) => {
      await turn.ask('Sure?', { expiresAt: 'tomorrow' }).catch((error) => {
        problem = error
      })
      return 'x'
    })
    await send(service, 'go')
    expect(problem).toEqual(new TypeError('turn.ask(): expected expiresAt to be a date, got "tomorrow"'))
  })
})
