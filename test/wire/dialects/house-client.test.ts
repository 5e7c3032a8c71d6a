import { describe, expect, it, onTestFinished } from 'vitest'
import type { CallTarget } from '../../../src/core/agent/call-agent.ts'
import type { Fetch } from '../../../src/core/http/fetch.ts'
import { clientTools, toolResult } from '../../../src/core/protocol/extensions/client-tools.ts'
import { textOf } from '../../../src/core/protocol/model.ts'
import { connect } from '../../../src/entries/client.ts'
import { createTestRuntime, send, taskOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'

const origin = 'https://house.example'
const secret = 'secret-key-123'

const card = {
  name: 'Keys',
  description: '',
  version: '1',
  url: `${origin}/api/a2a`,
  protocolVersion: '0.3.0',
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}

/**
 * An agent of the house profile that is not ours: it has `message/stream`, and `tasks/get` by `taskId` with a stream as
 * its answer. Each task asks for a key, by an `inputRequest`, and takes it only from a tool result.
 */
function startForeignAgent() {
  const received: { readonly method: string; readonly params: Params }[] = []
  let state = 'input-required'
  const update = (body: object) => ({ taskId: 'task-1', contextId: 'ctx-1', ...body })
  const status = (next: string, message?: object, final = false) => {
    state = next
    return update({ kind: 'status-update', status: { state: next, message, timestamp: '2026-01-01T00:00:00Z' }, final })
  }
  const question = () =>
    status('input-required', {
      kind: 'message',
      role: 'agent',
      messageId: 'q',
      parts: [{ kind: 'text', text: 'Please provide your API key' }],
      inputRequest: { kind: 'input-request', prompt: 'Enter API key:', sensitive: true, requestId: 'input-1' },
    })
  const started = { kind: 'task', id: 'task-1', contextId: 'ctx-1', status: { state: 'started' } }
  const chunk = (text: string, append: boolean) =>
    update({ kind: 'artifact-update', index: 0, part: { kind: 'text', text, index: 0, append } })

  function answer(method: string, { message, taskId }: Params): readonly object[] | undefined {
    if (method === 'tasks/get')
      return taskId === 'task-1' ? [status(state, undefined, state === 'completed')] : undefined
    const result = message?.parts.find(({ kind }) => kind === 'tool-result')
    if (!result) return [started, status('working'), question()]
    if (result.toolUseId !== 'input-1' || !message?.referenceTaskIds?.includes('task-1')) return undefined
    const { value } = result.result as { readonly value: string }
    return [
      status('working'),
      chunk(`${value.length} `, false),
      chunk('characters', true),
      status('completed', undefined, true),
    ]
  }

  const fetch: Fetch = async (url, init) => {
    if (init.method === 'GET') {
      const isCard = new URL(url).pathname === '/.well-known/agent-card.json'
      return isCard ? Response.json(card) : new Response('', { status: 404 })
    }
    const { id, method, params } = JSON.parse(`${init.body}`)
    received.push({ method, params })
    const events = ['message/stream', 'tasks/get'].includes(method) ? answer(method, params) : []
    const error = events ? { code: -32601, message: 'Method not found' } : { code: -32602, message: 'Invalid params' }
    if (!events?.length) return Response.json({ jsonrpc: '2.0', id, error })
    const data = events.map((result) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
    return new Response(openStream(data.join(''), state === 'completed'), {
      headers: { 'content-type': 'text/event-stream' },
    })
  }
  return { fetch, received }
}

interface Params {
  readonly taskId?: string
  readonly message?: {
    readonly parts: readonly { readonly kind: string; readonly toolUseId?: string; readonly result?: unknown }[]
    readonly referenceTaskIds?: readonly string[]
  }
}

/** A stream stays open while its task waits for input. */
function openStream(text: string, isOver: boolean): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text))
      if (isOver) controller.close()
    },
  })
}

const open = (fetch: Fetch) => connect(origin, { fetch, dialects: ['v0.3-house'] })

it('a client of the house profile reads input requests of agents that only stream, and answers them by tool results', async () => {
  const { fetch, received } = startForeignAgent()
  const client = await open(fetch)
  const conversation = client.conversation()
  const { task } = await conversation.send('go')
  expect(task?.status).toMatchObject({
    state: 'input-required',
    message: { metadata: { [clientTools]: { requestId: 'input-1', prompt: 'Enter API key:', sensitive: true } } },
  })
  const reply = await conversation.send(secret)
  expect([reply.task?.status.state, reply.text]).toEqual(['completed', '14 characters'])
  expect(received.at(-1)?.params.message).toMatchObject({
    parts: [{ kind: 'tool-result', toolUseId: 'input-1', result: { value: secret } }],
    referenceTaskIds: ['task-1'],
  })
  expect(client.explain().lines).toContain('The agent is called by the house profile of 0.3.')
})

it('a tool result of the caller is sent as it is, and the events of its task are read', async () => {
  const { fetch, received } = startForeignAgent()
  const client = await open(fetch)
  for await (const event of client.stream('go')) {
    if (event.type === 'status' && event.status.state === 'input-required') break
  }
  const result = { data: { toolUseId: 'input-1', result: { value: 'x' } }, mediaType: toolResult }
  const events = await collect(client.stream([{ text: 'Here it is:' }, result], { taskId: 'task-1' }))
  expect(events.map(({ type }) => type)).toEqual(['status', 'artifact', 'artifact', 'status'])
  expect(received.at(-1)?.params.message?.parts).toEqual([
    { kind: 'text', text: 'Here it is:' },
    { kind: 'tool-result', toolUseId: 'input-1', result: { value: 'x' } },
  ])
  expect((await client.task('task-1').wait()).task?.status.state).toBe('completed')
})

it('a client that names no dialect reads the input request of a house agent, and sends tool results in its form', async () => {
  const { fetch, received } = startForeignAgent()
  const client = await connect(origin, { fetch })
  for await (const event of client.stream('go')) {
    if (event.type !== 'status' || event.status.state !== 'input-required') continue
    expect(event.status.message?.metadata).toMatchObject({ [clientTools]: { requestId: 'input-1', sensitive: true } })
    break
  }
  const result = { data: { toolUseId: 'input-1', result: { value: 'x' } }, mediaType: toolResult }
  const events = await collect(client.stream(result, { taskId: 'task-1' }))
  expect(events.at(-1)).toMatchObject({ status: { state: 'completed' } })
  expect(received.at(-1)?.params.message).toMatchObject({
    parts: [{ kind: 'tool-result' }],
    referenceTaskIds: ['task-1'],
  })
})

/** A parent relays the question of an agent. Returns everything that its log has of the task after the answer. */
async function relay(target: CallTarget, recovery: 'fail' | 'resume') {
  const { service, log, drain } = createTestRuntime(
    async (turn) => `They are ${(await turn.call(target, 'go')).text}.`,
    {
      recovery,
    },
  )
  onTestFinished(() => drain(0))
  const question = taskOf(await send(service, 'go'))
  expect(question.status).toMatchObject({
    state: 'input-required',
    message: { metadata: { [clientTools]: { sensitive: true } } },
  })
  const reply = taskOf(await send(service, secret, { taskId: question.id }))
  expect(reply.status.state).toBe('completed')
  return { text: reply.status.message && textOf(reply.status.message), stored: await log.read(question.id, 0) }
}

it.each(['fail', 'resume'] as const)(
  'the answer to a sensitive question of a house agent is not stored by a parent that relays it (%s)',
  async (recovery) => {
    const { fetch, received } = startForeignAgent()
    const { text, stored } = await relay(await open(fetch), recovery)
    expect(text).toBe('They are 14 characters.')
    expect(JSON.stringify(received)).toContain(secret)
    expect(JSON.stringify(stored)).not.toContain(secret)
  },
)

const child = shareTestServer(
  async (turn) => `${(await turn.ask('Your key?', { sensitive: true })).text.length} characters`,
  { grpc: true, profile: { name: 'Keys' } },
)

describe.each(dialectBindings)('over %s %s', (dialect, binding) => {
  it('the answer to a sensitive question is not stored by a parent that relays it', async () => {
    const { server } = child()
    const service = await openService(server.url.replace(/\/$/, ''), dialect, binding)
    const { card } = await connect(server.url)
    const { text, stored } = await relay({ service, card }, 'fail')
    expect(text).toBe('They are 14 characters.')
    expect(JSON.stringify(stored)).not.toContain(secret)
  })
})
