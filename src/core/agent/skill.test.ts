import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type } from 'arktype'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { apiKey } from '../../entries/auth.ts'
import { type Client, connect } from '../../entries/client.ts'
import { createPair } from '../../testing/pair.ts'
import { agent } from '../node/local-agent.node.ts'
import { readSkillSchemas, typedSkills } from '../protocol/extensions/typed-skills.ts'
import { skill } from './skill.ts'

const forecast = skill({
  id: 'forecast',
  name: 'Forecast',
  description: 'Forecasts the weather for tomorrow.',
  input: z.object({ city: z.string().min(2), days: z.number().int().default(1) }),
  output: z.object({ city: z.string(), degrees: z.number() }),
  run: ({ city, days }) => ({ city, degrees: 20 + days }),
})
const shout = skill({ id: 'shout', name: 'Shout', run: (text) => text.toUpperCase() })
const weather = agent({ name: 'Weather', skills: [forecast, shout] })

const Numbered = Type.Object({ n: Type.Number() })
const compiled = Compile(Numbered)
/** A typebox schema is its own JSON Schema. */
const typeboxSchema: StandardSchemaV1<{ n: number }> = {
  ...Numbered,
  '~standard': {
    version: 1,
    vendor: 'typebox',
    validate: (value) =>
      compiled.Check(value)
        ? { value }
        : { issues: compiled.Errors(value).map(({ message }) => ({ message, path: ['n'] })) },
  },
}

describe('skill', () => {
  it('a skill is called by its id and returns its output', async () => {
    const client = await connect(weather)
    expect(await client.skill('forecast', { city: 'Graz', days: 2 })).toEqual({ city: 'Graz', degrees: 22 })
    expect(await client.skill('shout', 'hello')).toBe('HELLO')
  })

  it('the card of a skill has its schemas and not its implementation', async () => {
    const { card } = await connect(weather)
    const { params } = card.capabilities.extensions?.find(({ uri }) => uri === typedSkills) ?? {}
    expect(params).toMatchObject({
      skills: {
        forecast: {
          input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          output: { type: 'object', required: ['city', 'degrees'] },
        },
        shout: {},
      },
    })
    expect(card.skills[0]).toEqual({
      id: 'forecast',
      name: 'Forecast',
      description: 'Forecasts the weather for tomorrow.',
      tags: ['forecast'],
      inputModes: ['application/json', 'text/plain'],
      outputModes: ['application/json'],
    })
  })

  it.each([
    ['v1.0', 'JSONRPC'],
    ['v1.0', 'HTTP+JSON'],
    ['v0.3', 'JSONRPC'],
    ['v0.3', 'HTTP+JSON'],
    ['v0.2', 'JSONRPC'],
    ['v0.1', 'JSONRPC'],
  ] as const)('invalid input is rejected with its fields in %s over %s', async (dialect, binding) => {
    await using connection = await createPair(weather, { connect: { dialects: [dialect], bindings: [binding] } })
    await expect(connection.client.skill('forecast', { city: 'G', days: 'two' })).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringMatching(/message\.parts\[0\]\.data\.city: .*message\.parts\[0\]\.data\.days: /s),
    })
    expect(await connection.client.skill('forecast', { city: 'Graz' })).toEqual({ city: 'Graz', degrees: 21 })
  })

  it('a message without a skill, or with an unknown one, is rejected', async () => {
    const client: Client = await connect(weather)
    await expect(client.send('Graz')).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringContaining('expected one of the skills forecast, shout, got none'),
    })
    await expect(client.skill('rain', {})).rejects.toThrow('expected one of the skills forecast, shout, got "rain"')
    await expect(client.skill('forecast', undefined)).rejects.toThrow('input: expected the input of the skill')
  })

  it('an only skill needs no id and takes JSON in a text', async () => {
    const client = await connect(agent({ name: 'Weather', skills: [forecast] }))
    const reply = await client.send('{"city":"Graz"}')
    expect(reply.message?.parts).toEqual([{ data: { city: 'Graz', degrees: 21 }, mediaType: 'application/json' }])
    await expect(client.send('Graz')).rejects.toThrow('message.parts[0]')
  })

  it('a message without a skill goes to the implementation of the agent', async () => {
    const client = await connect(agent({ name: 'Weather', skills: [forecast] }, (turn) => `You said ${turn.text}`))
    expect((await client.send('hello')).text).toBe('You said hello')
    expect(await client.skill('forecast', { city: 'Graz' })).toEqual({ city: 'Graz', degrees: 21 })
  })

  it('a skill can ask and stream before it returns', async () => {
    const slow = skill({
      id: 'slow',
      name: 'Slow',
      input: z.object({ of: z.number() }),
      output: z.object({ sum: z.number() }),
      async *run({ of }, turn) {
        yield { text: 'adding' }
        const more = await turn.ask('How much more?', { schema: z.coerce.number() })
        return { sum: of + more }
      },
    })
    const client = await connect(agent({ name: 'Slow', skills: [slow] }))
    const question = await client.skill('slow', { of: 1 }).catch((error) => error)
    expect(question).toMatchObject({
      reason: 'task-input-required',
      message: expect.stringContaining('How much more?'),
    })
    const reply = await client.send('2', { taskId: question.metadata.taskId })
    expect(reply.task).toMatchObject({
      status: { state: 'completed', message: { parts: [{ data: { sum: 3 } }] } },
      artifacts: [{ parts: [{ text: 'adding' }] }],
    })
  })

  it('invalid output is an invalid agent response without details for the caller', async () => {
    const broken = skill({
      id: 'broken',
      name: 'Broken',
      output: z.object({ secret: z.string() }),
      run: () => ({ secret: 7 as unknown as string }),
    })
    const dated = skill({ id: 'dated', name: 'Dated', output: z.unknown(), run: () => ({ at: new Date() }) })
    await using connection = await createPair(agent({ name: 'Broken', skills: [broken, dated] }))
    await expect(connection.client.skill('broken', 'go')).rejects.toMatchObject({
      code: 'invalid-agent-response',
      message: 'Invalid agent response: The skill "broken" has failed: what it gave does not fit its own schema.',
    })
    await expect(connection.client.skill('dated', 'go')).rejects.toMatchObject({
      code: 'invalid-agent-response',
      message: expect.stringContaining('data.at: expected a value that JSON can hold, got a Date'),
    })
  })

  it('invalid input of a later message is asked for again', async () => {
    const patient = skill({
      id: 'patient',
      name: 'Patient',
      input: z.object({ city: z.string() }),
      output: z.object({ city: z.string() }),
      async run({ city }, turn) {
        if (city === '') return void (await turn.requireInput('Which city?'))
        return { city }
      },
    })
    const client = await connect(agent({ name: 'Patient', skills: [patient, shout] }))
    const first = await client.send({ data: { city: '' } }, { skill: 'patient' })
    const { taskId = '' } = { taskId: first.task?.id }
    const second = await client.send('Graz', { taskId })
    expect(second.task?.status.state).toBe('input-required')
    expect(second.text).toContain('Please send it again.')
    const third = await client.send({ data: { city: 'Graz' } }, { taskId })
    expect(third.task?.status).toMatchObject({ state: 'completed', message: { parts: [{ data: { city: 'Graz' } }] } })
  })

  it.each([
    ['zod', z.object({ n: z.number() })],
    ['valibot', v.object({ n: v.number() })],
    ['arktype', type({ n: 'number' })],
    ['typebox', typeboxSchema],
  ])('schemas of %s validate input and output', async (library, schema) => {
    const half = skill({ id: 'half', name: 'Half', input: schema, output: schema, run: ({ n }) => ({ n: n / 2 }) })
    const client = await connect(agent({ name: 'Half', skills: [half] }))
    expect(await client.skill('half', { n: 4 })).toEqual({ n: 2 })
    const inputSchema = readSkillSchemas(client.card).get('half')?.input
    if (library !== 'valibot') expect(inputSchema).toMatchObject({ type: 'object', required: ['n'] })
    await expect((client as Client).skill('half', { n: 'four' })).rejects.toThrow('message.parts[0].data.n')
  })

  it.each(['v1.0', 'v0.3', 'v0.2'] as const)('%s clients read the schemas of skills', async (dialect) => {
    await using connection = await createPair(weather, { connect: { dialects: [dialect] } })
    expect([...readSkillSchemas(connection.client.card).keys()]).toEqual(['forecast', 'shout'])
  })

  it('a protected skill runs only for authorized callers', async () => {
    const open = skill({ id: 'open', name: 'Open', run: () => 'open' })
    const closed = skill({ id: 'closed', name: 'Closed', security: [{ key: [] }], run: () => 'closed' })
    const schemes = { key: apiKey({ keys: [] }) }
    await using connection = await createPair(agent({ name: 'Both', skills: [open, closed] }), {
      serve: { auth: { schemes, anonymous: {} } },
    })
    expect(await connection.client.skill('open', 'go')).toBe('open')
    await expect(connection.client.skill('closed', 'go')).rejects.toMatchObject({ code: 'forbidden' })
    const sneaking = connection.client.send('go', { skill: 'open', metadata: { skillId: 'closed' } })
    await expect(sneaking).rejects.toMatchObject({ code: 'invalid-params' })
  })

  it('an agent without implementation rejects plain and duplicate skills', () => {
    expect(() => agent({ name: 'Plain', skills: [forecast, { id: 'plain', name: 'Plain' }] })).toThrow(
      'the skill plain',
    )
    expect(() => agent({ name: 'Twice', skills: [forecast, forecast] })).toThrow('two skills have the id forecast')
    expect(() => agent({ name: 'Idle' })).toThrow('expected a function, a loop')
  })
})

describe('the types of skills', () => {
  it('a local agent has the types of its skills', () => {
    const local = () => connect(weather)
    type Local = Awaited<ReturnType<typeof local>>
    expectTypeOf<Parameters<Local['skill']>[0]>().toEqualTypeOf<'forecast' | 'shout'>()
  })

  it('a remote client gets the types of an agent or written ones', () => {
    const far = (client: Awaited<ReturnType<typeof connect<typeof weather>>>) =>
      client.skill('forecast', { city: 'Graz' })
    expectTypeOf(far).returns.resolves.toEqualTypeOf<{ city: string; degrees: number }>()

    type Written = { readonly half: { readonly input: { n: number }; readonly output: { n: number } } }
    const written = async () => (await connect<Written>('http://127.0.0.1:1')).skill('half', { n: 1 })
    expectTypeOf(written).returns.resolves.toEqualTypeOf<{ n: number }>()
  })

  it('wrong skills, inputs and outputs do not compile', () => {
    const wrong = async () => {
      const client = await connect<typeof weather>('http://127.0.0.1:1')
      // @ts-expect-error There is no such skill.
      await client.skill('rain', {})
      // @ts-expect-error The city is missing.
      await client.skill('forecast', {})
      // @ts-expect-error The output has no such member.
      return (await client.skill('forecast', { city: 'Graz' })).wind
    }
    expectTypeOf(wrong).toBeFunction()
  })

  it('the skills of an untyped client are unknown', () => {
    const plain = async () => (await connect('http://127.0.0.1:1')).skill('anything', { n: 1 })
    expectTypeOf(plain).returns.resolves.toBeUnknown()
  })
})
