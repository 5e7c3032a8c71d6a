import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type } from 'arktype'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import * as v from 'valibot'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { until } from '../../test/support/async.ts'
import type { AgentFunction } from '../agent/agent.ts'
import type { Part, Task } from '../protocol/model.ts'

function standard(validate: StandardSchemaV1['~standard']['validate']): StandardSchemaV1 {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

const textsIn = ({ status }: Task) => status.message?.parts.map((part) => ('text' in part ? part.text : ''))

describe.each(['fail', 'resume'] as const)('a question, policy %s', (recovery) => {
  function house(run: AgentFunction) {
    const opened = createTestRuntime(run, { recovery, leaseTtl: 200, cancelGrace: 20 })
    onTestFinished(() => opened.drain(0))
    const answer = async (taskId: string, ...parts: Part[]) =>
      taskOf(await opened.service.sendMessage({ message: messageOf('', { taskId, parts }) }, callOf()))
    return { ...opened, answer }
  }

  const Trip = z.object({ to: z.string(), nights: z.number().min(1) })
  const travel: AgentFunction = async (turn) => {
    const trip = await turn.ask('Where to?', { schema: Trip })
    return `${trip.nights} nights in ${trip.to}`
  }

  it('gives what the schema makes of the data in the answer', async () => {
    const { service, answer } = house(travel)
    const { id } = taskOf(await send(service, 'go'))
    expect(textsIn(await answer(id, { data: { to: 'Oslo', nights: 2 } }))).toEqual(['2 nights in Oslo'])
  })

  it('reads data also from a text that is JSON', async () => {
    const { service, answer } = house(travel)
    const { id } = taskOf(await send(service, 'go'))
    expect(textsIn(await answer(id, { text: '{"to":"Rome","nights":1}' }))).toEqual(['1 nights in Rome'])
  })

  it('asks again when the answer does not fit, and names the problem', async () => {
    const { service, answer } = house(travel)
    const { id } = taskOf(await send(service, 'go'))
    const again = await answer(id, { data: { to: 'Oslo', nights: 0 } })
    expect(again.status.state).toBe('input-required')
    expect(textsIn(again)?.[0]).toBe('Where to?')
    expect(textsIn(again)?.[1]).toMatch(/^The last answer does not fit: nights: .*Please answer again\.$/)
    expect(textsIn(await answer(id, { text: 'a nice place' }))?.[1]).toMatch(/does not fit/)
    expect(textsIn(await answer(id, { data: { to: 'Oslo', nights: 3 } }))).toEqual(['3 nights in Oslo'])
  })

  it('takes the text as it is where the schema wants a text', async () => {
    const { service, answer } = house(async (turn) => JSON.stringify(await turn.ask('Room?', { schema: z.string() })))
    const { id } = taskOf(await send(service, 'go'))
    expect(textsIn(await answer(id, { text: '42' }))).toEqual(['"42"'])
  })

  const Sure = Compile(Type.Union([Type.Literal('yes'), Type.Literal('no')]))

  it.each<[string, StandardSchemaV1]>([
    ['valibot', v.pipe(v.string(), v.regex(/^(yes|no)$/, 'yes or no'))],
    ['arktype', type("'yes' | 'no'")],
    ['zod', z.enum(['yes', 'no'])],
    // TypeBox leaves it to others to be such a schema.
    ['TypeBox', standard((value) => (Sure.Check(value) ? { value } : { issues: Sure.Errors(value) }))],
  ])('understands the schemas of %s', async (_, schema) => {
    const { service, answer } = house(async (turn) => `${await turn.ask('Sure?', { schema })}`)
    const { id } = taskOf(await send(service, 'go'))
    expect((await answer(id, { text: 'perhaps' })).status.state).toBe('input-required')
    expect(textsIn(await answer(id, { text: 'yes' }))).toEqual(['yes'])
  })

  it('that expires ends the task with a reason that is stored', async () => {
    const expiresAt = new Date(Date.now() + 60)
    const { service } = house(async (turn) => {
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

  it('is not asked if its time makes no sense', async () => {
    let problem: unknown
    const { service } = house(async (turn) => {
      await turn.ask('Sure?', { expiresAt: 'tomorrow' }).catch((error) => {
        problem = error
      })
      return 'x'
    })
    await send(service, 'go')
    expect(problem).toEqual(new TypeError('turn.ask(): expected expiresAt to be a date, got "tomorrow"'))
  })
})

it('a step without a policy is just done, and gives what JSON can hold', async () => {
  const { service } = createTestRuntime(async (turn) =>
    JSON.stringify(await turn.step('add', () => ({ sum: 3, gone: undefined }))),
  )
  const outcome = await send(service, 'go')
  expect(outcome).toMatchObject({ type: 'message', message: { parts: [{ text: '{"sum":3}' }] } })
})

it.each([
  ['turn.step(): expected a name that is not empty, got ""', '', () => 1],
  ['turn.step(pay): expected a function, got number', 'pay', 1],
])('refuses a step with %s', async (message, name, work) => {
  let problem: unknown
  const { service } = createTestRuntime(async (turn) => {
    await turn.step(name, work as () => number).catch((error) => {
      problem = error
    })
    return 'x'
  })
  await send(service, 'go')
  expect(problem).toEqual(new TypeError(message))
})
