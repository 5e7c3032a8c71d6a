import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentProfile } from '../../../src/core/agent/agent.ts'
import { skill } from '../../../src/core/agent/skill.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import type { Binding } from '../../../src/core/dialects/dialect.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import type { Part } from '../../../src/core/protocol/model.ts'
import type { SendConfiguration, Service } from '../../../src/core/protocol/service.ts'
import type { ServeOptions } from '../../../src/serve/options.ts'
import { callOf, messageOf, taskOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'

const text: Part = { text: 'hi' }
const json: Part = { data: { a: 1 } }
const table: Part = { raw: 'W10=', mediaType: 'application/json' }
const image: Part = { raw: 'aGk=', mediaType: 'image/png', filename: 'a.png' }
const markdown: Part = { raw: 'aGk=', mediaType: 'Text/Markdown; charset=utf-8' }
const unknownFile: Part = { raw: 'aGk=' }

let runs = 0

async function answering(turn: Turn): Promise<string | undefined> {
  runs++
  if (turn.text === 'ask') return void (await turn.requireInput('Which one?'))
  return 'done'
}

type Open = (profile?: Partial<AgentProfile>, options?: ServeOptions) => Promise<Service>

const opens =
  (dialect: DialectName, binding: Binding): Open =>
  async (profile = {}, options = {}) => {
    const { server } = await startTestServer(answering, {
      grpc: true,
      ...options,
      profile: { name: 'Test', ...profile },
    })
    return await openService(server.url, dialect, binding)
  }

const send = (service: Service, parts: readonly Part[], more: Parameters<typeof messageOf>[1] = {}) =>
  service.sendMessage({ message: messageOf('', { parts, ...more }) }, callOf())

async function errorOf(work: Promise<unknown>): Promise<A2AError> {
  const error = await work.then(
    (result) => new Error(`expected an error, got ${JSON.stringify(result)}`),
    (caught: unknown) => caught,
  )
  if (error instanceof A2AError) return error
  throw error
}

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  const open = opens(dialect, binding)

  it('a part of a type that the agent does not declare is rejected before anything runs', async () => {
    const service = await open()
    await send(service, [text, json])
    const before = runs
    const error = await errorOf(send(service, [text, image]))
    expect(error.code).toBe('content-type-not-supported')
    const field = dialect === 'v0.3-proto' ? 'message.content[1]' : 'message.parts[1]'
    expect(error.message).toContain(`${field}: This agent accepts text/plain, application/json, not image/png.`)
    expect(error.message).toContain('inputModes')
    const streamed = collect(service.streamMessage({ message: messageOf('', { parts: [image] }) }, callOf()))
    expect((await errorOf(streamed)).code).toBe('content-type-not-supported')
    expect(runs).toBe(before)
  })

  it('declared types are accepted, with ranges and parameters', async () => {
    const service = await open({ inputModes: ['text/*', 'image/png'] })
    await send(service, [text, markdown, image])
    expect((await errorOf(send(service, [table]))).message).toContain('not application/json')
  })

  it('a part without a type is accepted, whatever the agent declares', async () => {
    const service = await open({
      inputModes: ['image/png'],
      skills: [{ id: 'draw', name: 'Draw', inputModes: ['image/*'] }],
    })
    for (const part of [text, json, unknownFile, { url: 'https://a.test/x' }]) {
      await send(service, [part])
      await send(service, [part], { metadata: { skillId: 'draw' } })
    }
  })

  it('any type is accepted if the agent says so, or the check is off', async () => {
    await send(await open({ inputModes: ['*/*'] }), [text, json, image, unknownFile])
    await send(await open({}, { inputModes: 'unchecked' }), [text, json, image, unknownFile])
  })

  it('a skill that the message names decides, and without a name any skill', async () => {
    const draw = { id: 'draw', name: 'Draw', inputModes: ['image/png'] }
    const service = await open({ skills: [draw, { id: 'talk', name: 'Talk' }] })
    await send(service, [image, text])
    await send(service, [image], { metadata: { skillId: 'draw' } })
    const error = await errorOf(send(service, [table], { metadata: { skillId: 'draw' } }))
    expect(error.message).toContain('The skill "draw" accepts image/png, not application/json.')
    await send(service, [text], { metadata: { skillId: 'talk' } })
    expect((await errorOf(send(service, [image], { metadata: { skillId: 'talk' } }))).message).toContain('"talk"')
  })

  it('a question can be answered in text and JSON, and with what the agent accepts', async () => {
    const service = await open({ inputModes: ['image/png'], skills: [{ id: 'a', name: 'A', inputModes: ['text'] }] })
    const alias = dialect === 'v0.1' ? { quirks: { alias: 'mine' } } : {}
    const sendTo = (parts: readonly Part[], taskId?: string) => {
      const message = messageOf('', { parts, ...(taskId !== undefined && dialect !== 'v0.1' && { taskId }) })
      return service.sendMessage({ message, ...alias }, callOf())
    }
    const { id } = taskOf(await sendTo([{ text: 'ask' }]))
    expect((await errorOf(sendTo([{ url: 'https://a.test/x', mediaType: 'video/mp4' }], id))).message).toContain(
      'video/mp4',
    )
    expect(taskOf(await sendTo([json], id)).status.state).toBe('completed')
  })

  it('a caller that accepts nothing that the agent declares to produce is rejected', async () => {
    const asking = (service: Service, acceptedOutputModes: SendConfiguration['acceptedOutputModes']) =>
      service.sendMessage({ message: messageOf('hi'), configuration: { acceptedOutputModes } }, callOf())
    const declared = await open({ outputModes: ['text/plain'] })
    for (const modes of [[], ['text/plain'], ['image/png', 'text/*'], ['text']]) await asking(declared, modes)
    const error = await errorOf(asking(declared, ['image/png', 'audio/mpeg']))
    expect(error.code).toBe('content-type-not-supported')
    expect(error.message).toContain('This agent produces text/plain, not image/png, audio/mpeg.')
    // Without a declaration, the accepted types are a wish.
    await asking(await open(), ['image/png'])
    await asking(await open({ outputModes: ['text/plain'] }, { outputModes: 'unchecked' }), ['image/png'])
  })

  it('an error of the agent before it touches the task is the answer', async () => {
    const { server } = await startTestServer(
      () => {
        throw new A2AError('content-type-not-supported', 'Only haiku.')
      },
      { grpc: true },
    )
    const error = await errorOf(send(await openService(server.url, dialect, binding), [text]))
    expect(error.code).toBe('content-type-not-supported')
    expect(error.message).toContain('Only haiku.')
  })

  it('an error of a generator before its first item is the answer, also to a stream', async () => {
    const { server } = await startTestServer(
      // biome-ignore lint/correctness/useYield: it fails before.
      async function* () {
        throw new A2AError('content-type-not-supported', 'Only haiku.')
      },
      { grpc: true },
    )
    const service = await openService(server.url, dialect, binding)
    expect((await errorOf(send(service, [text]))).message).toContain('Only haiku.')
    // 0.1 callers choose the id of the task, which exists at once.
    if (dialect === 'v0.1') return
    const streamed = collect(service.streamMessage({ message: messageOf('hi') }, callOf()))
    expect((await errorOf(streamed)).message).toContain('Only haiku.')
  })
})

const v10 = { message: { messageId: 'm', role: 'ROLE_USER', parts: [image] } }
const bytes = { file: { fileWithBytes: 'aGk=', mimeType: 'image/png' } }

it.each([
  ['1.0', '/message:send', v10, {}, 400],
  ['1.0.0', '/message:send', v10, { dialects: { compatibility: { firstStatuses: true } } }, 415],
  ['0.3', '/v1/message:send', { message: { messageId: 'm', role: 'ROLE_USER', content: [bytes] } }, {}, 400],
])('%s over REST has its own HTTP status for it', async (_, path, body, options, status) => {
  const { server } = await startTestServer(answering, options)
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect([response.status, await response.text()]).toEqual([status, expect.stringContaining('image/png')])
})

it('over JSON-RPC the error is -32005 with HTTP status 200', async () => {
  const { wire } = await startTestServer(answering)
  const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [image] } }
  expect(await wire.call('SendMessage', params)).toMatchObject({ status: 200, error: { code: -32005 } })
})

it('the card declares what is accepted, and typed skills declare JSON', async () => {
  const typed = skill({
    id: 'add',
    name: 'Add',
    input: z.object({ a: z.number() }),
    output: z.number(),
    run: ({ a }) => a,
  })
  const { server } = await startTestServer(undefined, { profile: { name: 'Sums', skills: [typed] } })
  const card = await (await fetch(server.cardUrl)).json()
  expect(card).toMatchObject({
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [{ inputModes: ['application/json', 'text/plain'], outputModes: ['application/json'] }],
  })
})

it.each([[['plain']], [[]], ['text/plain'], [[5]]])('inputModes %j are rejected at start', async (inputModes) => {
  const start = startTestServer(answering, { profile: { name: 'Test', inputModes: inputModes as never } })
  await expect(start).rejects.toThrow('expected inputModes to be media types such as text/plain or image/*')
})

it('the types and skills of the extended card are accepted as well', async () => {
  const extendedCard = { skills: [{ id: 'draw', name: 'Draw', inputModes: ['image/png'] }] }
  const { server } = await startTestServer(answering, { extendedCard })
  const service = await openService(server.url, 'v1.0', 'JSONRPC')
  await send(service, [image])
  await send(service, [image], { metadata: { skillId: 'draw' } })
  expect((await errorOf(send(service, [table], { metadata: { skillId: 'draw' } }))).code).toBe(
    'content-type-not-supported',
  )
})
