import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Turn } from '../../src/agent/turn.ts'
import { connect } from '../../src/client/connect.ts'
import type { Binding, DialectName } from '../../src/dialects/dialect.ts'
import { v0_3HouseClient } from '../../src/dialects/v0.3-house/client.ts'
import { clientTool, createAgentLoop } from '../../src/entries/loop.ts'
import { grpc } from '../../src/node/grpc-client.ts'
import { createPushFetch } from '../../src/node/guarded-fetch/push-fetch.ts'
import { clientTools, toolUse } from '../../src/protocol/extensions/client-tools.ts'
import type { Message, Part } from '../../src/protocol/model.ts'
import type { Service } from '../../src/protocol/service.ts'
import { createJsonRpcClient } from '../../src/transports/jsonrpc/client.ts'
import { callOf, messageOf, taskOf } from '../support/agents/test-runtime.ts'
import { collect, until } from '../support/async.ts'
import { scriptedModel, toolCalls } from '../support/models/scripted-model.ts'
import { startWebhookReceiver } from '../support/push/webhook-receiver.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { dialectBindings } from '../support/wire/dialect-bindings.ts'

const schema = { type: 'object', properties: {}, additionalProperties: false }
const search = clientTool({ name: 'search', prompt: 'Please search.', input: z.object({}), inputJsonSchema: schema })
const use: Part = { data: { toolUseId: 'call-0', name: 'search', arguments: {} }, mediaType: toolUse }
const request = { requestId: 'call-0', prompt: 'Please search.', sensitive: false, tool: 'search', schema }
const plain = [{ text: 'Please search.' }, use, { data: { inputRequest: request } }]
const loop = () => createAgentLoop({ model: scriptedModel(toolCalls(['search', '{}'])), tools: [search] })

async function open(dialect: DialectName, binding: Binding, extensions: readonly string[]) {
  const { server } = await startTestServer(loop(), { grpc: true })
  async function serviceOf(): Promise<Service> {
    if (dialect === 'v0.3-house') {
      return createJsonRpcClient({ url: `${server.url}/api/a2a`, dialect: v0_3HouseClient, fetch, extensions })
    }
    const transport = binding === 'GRPC' ? grpc({ loopback: 'allow' }) : undefined
    onTestFinished(() => transport?.close())
    return (await connect(server.url, { dialects: [dialect], bindings: [transport ?? binding], extensions })).service
  }
  const service = await serviceOf()
  // In 0.1 the task is named by its caller.
  const alias = dialect === 'v0.1' ? { alias: 'mine' } : {}
  const task = taskOf(await service.sendMessage({ message: messageOf('go'), ...alias }, callOf()))
  const got = await service.getTask({ taskId: task.id, ...(dialect === 'v0.1' && { isAlias: true }) }, callOf())
  const stream = dialect === 'v0.1' ? { alias: 'other' } : {}
  const events = await collect(service.streamMessage({ message: messageOf('go'), ...stream }, callOf()))
  const asking = events.flatMap((event) => {
    const status = event.type === 'task' ? event.task.status : event.type === 'status' ? event.status : undefined
    return status?.state === 'input-required' && status.message ? [status.message] : []
  })
  return [task.status.message, got.status.message, asking.at(-1)].map(essence)
}

/** What the message asks for, as far as it is not new every time. */
function essence(message: Message | undefined) {
  const { parts = [], metadata, extensions } = message ?? {}
  return {
    parts: parts.map(({ carry: _, ...part }) => part),
    request: metadata?.[clientTools],
    names: extensions?.includes(clientTools) ?? false,
  }
}

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  it('callers who have agreed on the extension get a request in its form, and others one that is spelled out', async () => {
    // In 0.1 messages name no extensions.
    const active = { parts: [{ text: 'Please search.' }, use], request, names: dialect !== 'v0.1' }
    const spelled = { parts: plain, request: undefined, names: false }
    expect(await open(dialect, binding, [clientTools])).toEqual([active, active, active])
    // The house has a form of its own, whatever is agreed on.
    const other = dialect === 'v0.3-house' ? active : spelled
    expect(await open(dialect, binding, [])).toEqual([other, other, other])
  })
})

describe('over JSON-RPC', () => {
  const named = { 'a2a-extensions': clientTools }

  it('a request is text and data where the extension is not active, and an answer names no extension', async () => {
    const { wire } = await startTestServer(loop())
    const answered = await wire.post({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } },
    })
    expect(answered.headers.get('a2a-extensions')).toBeNull()
    const { result } = await answered.json()
    expect(result.task.status.message).toEqual({
      messageId: expect.any(String),
      role: 'ROLE_AGENT',
      taskId: result.task.id,
      contextId: result.task.contextId,
      parts: plain,
    })
    expect(JSON.stringify(result)).not.toContain(clientTools)
    const listed = await wire.result<object>('ListTasks', { contextId: result.task.contextId })
    expect(listed).toMatchObject({ tasks: [{ status: { message: { parts: plain } } }] })
  })

  it('an answer names the extension where it is active, and so does the card of a loop', async () => {
    const { wire, server } = await startTestServer(loop())
    const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } }
    const answered = await wire.post({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }, named)
    expect(answered.headers.get('a2a-extensions')).toBe(clientTools)
    expect(await answered.json()).toMatchObject({
      result: { task: { status: { message: { metadata: { [clientTools]: request }, extensions: [clientTools] } } } },
    })
    const card = await (await fetch(`${server.url}/.well-known/agent-card.json`)).json()
    expect(card.capabilities.extensions).toEqual([
      { uri: clientTools, description: expect.any(String), required: false },
    ])
  })

  it('what was asked before stands in the history in the same form', async () => {
    const ask = async (turn: Turn) => `${(await turn.ask('Which?')).text}, ${(await turn.ask('Why?')).text}`
    const { wire } = await startTestServer(ask)
    const { id: taskId } = await wire.sendTask('go')
    await wire.sendTask('that', { taskId })
    const data = { inputRequest: { requestId: expect.any(String), prompt: 'Which?', sensitive: false } }
    const spelled = await wire.result<{ history: object[] }>('GetTask', { id: taskId })
    expect(spelled.history[1]).toMatchObject({ parts: [{ text: 'Which?' }, { data }] })
    const active = await wire.result<{ history: object[] }>('GetTask', { id: taskId }, named)
    expect(active.history[1]).toMatchObject({
      parts: [{ text: 'Which?' }],
      metadata: { [clientTools]: data.inputRequest },
    })
  })
})

it.each([
  ['spelled out to webhooks', {}, { parts: plain }],
  [
    'in the form of the extension to webhooks of those who have agreed on it',
    { 'a2a-extensions': clientTools },
    { metadata: { [clientTools]: request } },
  ],
])('a request is told %s', async (_, headers, told) => {
  const { url, requests } = await startWebhookReceiver()
  const push = { fetch: createPushFetch({ loopback: 'allow' }) }
  const { wire } = await startTestServer(loop(), { push })
  await wire.send('go', { configuration: { taskPushNotificationConfig: { url } } }, headers)
  await until(() => requests.some(({ body }) => body.includes('INPUT_REQUIRED')))
  const body = JSON.parse(requests.find((each) => each.body.includes('INPUT_REQUIRED'))?.body ?? '{}')
  expect((body.statusUpdate ?? body.task).status.message).toMatchObject(told)
})
