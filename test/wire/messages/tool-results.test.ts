import { describe, expect, it, onTestFinished } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { connect } from '../../../src/core/client/connect.ts'
import type { Binding } from '../../../src/core/dialects/dialect.ts'
import { v0_3HouseClient } from '../../../src/core/dialects/v0.3-house/client.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import { toolResult, toolUse } from '../../../src/core/protocol/extensions/client-tools.ts'
import type { Message, Part } from '../../../src/core/protocol/model.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import { createJsonRpcClient } from '../../../src/core/transports/jsonrpc/client.ts'
import { callOf, messageOf, taskOf } from '../../support/agents/test-runtime.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'

const use = (toolUseId: string): Part => ({ data: { toolUseId, name: 'search', arguments: {} }, mediaType: toolUse })
const result = (toolUseId: string): Part => ({ data: { toolUseId, result: ['Tom'] }, mediaType: toolResult })

/** Requests the tool uses that each message names, until the message is "end". */
async function asking(turn: Turn): Promise<string | undefined> {
  if (turn.text === 'end') return 'done'
  const ids = turn.text === '' ? ['next'] : turn.text.split(' ')
  await turn.requireInput([{ text: 'Please search.' }, ...ids.map(use)])
  return undefined
}

async function problemOf(work: Promise<unknown>): Promise<A2AError> {
  const error = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  if (error instanceof A2AError) return error
  throw new Error(`expected a refusal, got ${error}`)
}

async function open(dialect: DialectName, binding: Binding) {
  const { server } = await startTestServer(asking, { grpc: true })
  async function serviceOf(): Promise<Service> {
    if (dialect === 'v0.3-house') {
      return createJsonRpcClient({ url: `${server.url}/api/a2a`, dialect: v0_3HouseClient, fetch })
    }
    const transport = binding === 'GRPC' ? grpc({ loopback: 'allow' }) : undefined
    onTestFinished(() => transport?.close())
    const bindings = [transport ?? binding]
    return (await connect(server.url, { dialects: [dialect], bindings, retry: { tries: 1 } })).service
  }
  const service = await serviceOf()
  const send = (message: Message) => {
    // In 0.1 the caller chooses the task id.
    const alias = dialect === 'v0.1' ? { quirks: { alias: message.taskId ?? 'mine' } } : {}
    return service.sendMessage({ message, ...alias }, callOf())
  }
  const answer = (taskId: string, ...parts: readonly Part[]) => send(messageOf('', { taskId, parts }))
  return { send, answer }
}

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  it('a result is accepted once, and only for a pending request', async () => {
    const { send, answer } = await open(dialect, binding)
    const { id } = taskOf(await send(messageOf('u-1')))
    const unknown = await problemOf(answer(id, result('u-9')))
    expect(unknown.code).toBe('invalid-params')
    expect(unknown.message + JSON.stringify(unknown.cause)).toContain('"u-1')
    expect(taskOf(await answer(id, result('u-1'))).status.state).toBe('input-required')
    const again = await problemOf(answer(id, result('u-1')))
    expect(again.code).toBe('invalid-params')
  })

  it('a result without a task is rejected and starts no task', async () => {
    const { send } = await open(dialect, binding)
    expect((await problemOf(send(messageOf('', { parts: [result('u-1')] })))).code).toBe('invalid-params')
  })
})

describe('over JSON-RPC', () => {
  const part = (toolUseId: string) => ({ data: { toolUseId, result: 1 }, mediaType: toolResult })

  async function rpc() {
    const { wire } = await startTestServer(asking)
    const answer = (taskId: string, ...parts: readonly object[]) =>
      wire.call('SendMessage', { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, taskId } })
    return { wire, answer }
  }

  it('the error names the part, the pending requests and the received id', async () => {
    const { wire, answer } = await rpc()
    const { id } = await wire.sendTask('u-1 u-2')
    const refused = async (...parts: readonly object[]) => {
      const { error } = await answer(id, ...parts)
      return [error?.code, error?.message]
    }
    const expected = 'expected the result of a request that waits for one: toolUseId "u-1" or "u-2"'
    expect(await refused({ text: 'Here' }, part('u-9'))).toEqual([
      -32602,
      `Invalid parameters: message.parts[1]: ${expected}, got one for "u-9", which was not asked for`,
    ])
    expect(await refused({ data: { result: 1 }, mediaType: toolResult })).toEqual([
      -32602,
      `Invalid parameters: message.parts[0]: ${expected}, got one without a toolUseId`,
    ])
    expect(await refused(part('u-1'), part('u-1'))).toEqual([
      -32602,
      'Invalid parameters: message.parts[1]: expected the result of a request that waits for one: toolUseId "u-2", got one for "u-1", which is answered already',
    ])
    expect((await refused(part('x'.repeat(10_000)))).join()).toContain('x'.repeat(64))
    expect((await refused(part('x'.repeat(10_000)))).join()).not.toContain('x'.repeat(65))
  })

  it('a task without a pending request rejects results', async () => {
    const { wire } = await startTestServer((turn) => turn.requireInput('Which?').then(() => undefined))
    const { id } = await wire.sendTask('go')
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [part('u-1')], taskId: id }
    expect((await wire.call('SendMessage', { message })).error?.message).toBe(
      `Invalid parameters: message.parts[0]: task ${id} waits for no result of a tool, got one for "u-1", which was not asked for`,
    )
  })

  it('a text answers the oldest request, and a repeated message gets the same response', async () => {
    const { wire, answer } = await rpc()
    const { id } = await wire.sendTask('u-1')
    await wire.sendTask('u-2 u-3', { taskId: id })
    expect((await answer(id, part('u-1'))).error?.message).toContain('"u-1", which is answered already')
    const message = { messageId: 'same', role: 'ROLE_USER', parts: [part('u-3'), part('u-2')], taskId: id }
    const first = await wire.result('SendMessage', { message })
    expect(await wire.result('SendMessage', { message })).toMatchObject({ task: { id } })
    expect(first).toMatchObject({ task: { id } })
  })

  it('one of two simultaneous results is accepted', async () => {
    const { wire, answer } = await rpc()
    const { id } = await wire.sendTask('u-1')
    const answers = await Promise.all([answer(id, part('u-1')), answer(id, part('u-1'))])
    expect(answers.map(({ error }) => error?.code).sort()).toEqual([-32602, undefined])
  })
})

describe('the house dialect', () => {
  const answerTo = (
    referenceTaskIds: readonly string[],
    toolUseId: string,
    messageId: string = crypto.randomUUID(),
  ) => ({
    message: {
      kind: 'message',
      role: 'user',
      messageId,
      parts: [{ kind: 'tool-result', toolUseId, result: 1 }],
      referenceTaskIds,
    },
  })

  it('a result reaches the one of its referenced tasks that waits for it', async () => {
    const { wire } = await startTestServer(asking)
    const [one, two] = [await wire.sendTask('u-1'), await wire.sendTask('u-2')]
    const both = [one.id, 'gone', two.id]
    const ask = (params: object) => wire.call<{ id: string }>('message/send', params, { 'a2a-version': '0.3' })
    const answered = await ask(answerTo(both, 'u-2', 'same'))
    expect(answered.result?.id).toBe(two.id)
    expect((await ask(answerTo(both, 'u-2', 'same'))).result?.id).toBe(two.id)
    expect((await ask(answerTo(both, 'u-2'))).error).toMatchObject({ code: -32602 })
    expect((await ask(answerTo(both, 'u-9'))).error?.message).toContain('"u-1"')
    expect((await ask(answerTo(both, 'u-1'))).result?.id).toBe(one.id)
    expect((await ask(answerTo(['gone'], 'u-1'))).error).toMatchObject({ code: -32004 })
  })
})
