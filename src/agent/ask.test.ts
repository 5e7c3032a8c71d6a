import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type } from 'arktype'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import * as v from 'valibot'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { until } from '../../test/support/async.ts'
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
