import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { connect } from '../../../src/core/client/connect.ts'
import type { Binding } from '../../../src/core/dialects/dialect.ts'
import { v0_3HouseClient } from '../../../src/core/dialects/v0.3-house/client.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import { createPushFetch } from '../../../src/core/node/guarded-fetch/push-fetch.ts'
import { clientTools, toolUse } from '../../../src/core/protocol/extensions/client-tools.ts'
import type { Message, Part } from '../../../src/core/protocol/model.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import { createJsonRpcClient } from '../../../src/core/transports/jsonrpc/client.ts'
import { clientTool, createAgentLoop } from '../../../src/entries/loop.ts'
import { callOf, messageOf, taskOf } from '../../support/agents/test-runtime.ts'
import { collect, until } from '../../support/async.ts'
import { scriptedModel, toolCalls } from '../../support/models/scripted-model.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'

const schema = { type: 'object', properties: {}, additionalProperties: false }
const search = clientTool({ name: 'search', prompt: 'Please search.', input: z.object({}), inputJsonSchema: schema })
const use: Part = { data: { toolUseId: 'call-0', name: 'search', arguments: {} }, mediaType: toolUse }
const request = {
  ...{ requestId: 'call-0', prompt: 'Please search.', sensitive: false, tool: 'search', schema },
  expiresAt: expect.any(String),
}
/** Without the extension, the question is plain text, and its request is only in the metadata. */
const plain = { parts: [{ text: 'Please search.' }], metadata: { [clientTools]: { ...request, arguments: {} } } }
const loop = () => createAgentLoop({ model: scriptedModel(toolCalls(['search', '{}'])), tools: [search] })

async function requestsSeenBy(dialect: DialectName, binding: Binding, extensions: readonly string[]) {
  const { server } = await startTestServer(loop(), { grpc: true, dialects: { house: { holdStreamOnInput: false } } })
  async function createClient(): Promise<Service> {
    if (dialect === 'v0.3-house') {
      return createJsonRpcClient({ url: `${server.url}/api/a2a`, dialect: v0_3HouseClient, fetch, extensions })
    }
    const transport = binding === 'GRPC' ? grpc({ loopback: 'allow' }) : undefined
    onTestFinished(() => transport?.close())
    return (await connect(server.url, { dialects: [dialect], bindings: [transport ?? binding], extensions })).service
  }
  const service = await createClient()
  // In 0.1, the caller chooses the task id.
  const alias = dialect === 'v0.1' ? { quirks: { alias: 'mine' } } : {}
  const task = taskOf(await service.sendMessage({ message: messageOf('go'), ...alias }, callOf()))
  const got = await service.getTask({ taskId: task.id, ...(dialect === 'v0.1' && { isAlias: true }) }, callOf())
  const stream = dialect === 'v0.1' ? { quirks: { alias: 'other' } } : {}
  const events = await collect(service.streamMessage({ message: messageOf('go'), ...stream }, callOf()))
  const questions = events.flatMap((event) => {
    const status = event.type === 'task' ? event.task.status : event.type === 'status' ? event.status : undefined
    return status?.state === 'input-required' && status.message ? [status.message] : []
  })
  return [task.status.message, got.status.message, questions.at(-1)].map(requestIn)
}

/** The request in a message, without members that differ every time. */
function requestIn(message: Message | undefined) {
  const { parts = [], metadata, extensions } = message ?? {}
  return {
    parts: parts.map(({ carry: _, ...part }) => part),
    request: metadata?.[clientTools],
    names: extensions?.includes(clientTools) ?? false,
  }
}

describe.each(dialectBindings)('%s over %s', (dialect, binding) => {
  it('a client with the extension gets the tool call as data, and another one gets plain text with the request in its metadata', async () => {
    // 0.1 messages name no extensions.
    // The house dialect has members of its own, and no time at which a question is given up.
    const { expiresAt: _, ...ofHouse } = request
    const active = {
      parts: [{ text: 'Please search.' }, use],
      request: dialect === 'v0.3-house' ? ofHouse : request,
      names: dialect !== 'v0.1',
    }
    const question = { parts: plain.parts, request: plain.metadata[clientTools], names: false }
    expect(await requestsSeenBy(dialect, binding, [clientTools])).toEqual([active, active, active])
    // The house dialect always uses its own form.
    const other = dialect === 'v0.3-house' ? active : question
    expect(await requestsSeenBy(dialect, binding, [])).toEqual([other, other, other])
  })
})

describe('over JSON-RPC', () => {
  const withExtension = { 'a2a-extensions': clientTools }

  it('a question without the extension is text with metadata, and the response names no extension', async () => {
    const { wire } = await startTestServer(loop())
    const response = await wire.post({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } },
    })
    expect(response.headers.get('a2a-extensions')).toBeNull()
    const { result } = await response.json()
    expect(result.task.status.message).toEqual({
      messageId: expect.any(String),
      role: 'ROLE_AGENT',
      taskId: result.task.id,
      contextId: result.task.contextId,
      ...plain,
    })
    const listed = await wire.result<object>('ListTasks', { contextId: result.task.contextId })
    expect(listed).toMatchObject({ tasks: [{ status: { message: plain } }] })
  })

  it('a response with the extension names it, and so does the card of a loop', async () => {
    const { wire, server } = await startTestServer(loop())
    const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } }
    const response = await wire.post({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }, withExtension)
    expect(response.headers.get('a2a-extensions')).toBe(clientTools)
    expect(await response.json()).toMatchObject({
      result: { task: { status: { message: { metadata: { [clientTools]: request }, extensions: [clientTools] } } } },
    })
    const card = await (await fetch(`${server.url}/.well-known/agent-card.json`)).json()
    expect(card.capabilities.extensions).toContainEqual({
      uri: clientTools,
      description: expect.any(String),
      required: false,
    })
  })

  it('earlier requests appear in the history in the same form', async () => {
    const ask = async (turn: Turn) => `${(await turn.ask('Which?')).text}, ${(await turn.ask('Why?')).text}`
    const { wire } = await startTestServer(ask)
    const { id: taskId } = await wire.sendTask('go')
    await wire.sendTask('that', { taskId })
    const request = { requestId: expect.any(String), prompt: 'Which?', sensitive: false }
    const plain = await wire.result<{ history: object[] }>('GetTask', { id: taskId })
    const message = { parts: [{ text: 'Which?' }], metadata: { [clientTools]: request } }
    expect(plain.history[1]).toMatchObject(message)
    expect(plain.history[1]).not.toHaveProperty('extensions')
    const active = await wire.result<{ history: object[] }>('GetTask', { id: taskId }, withExtension)
    expect(active.history[1]).toMatchObject({ ...message, extensions: [clientTools] })
  })
})

it.each([
  ['as plain text with metadata to webhooks', {}, plain],
  [
    'in the form of the extension to webhooks of a client with the extension',
    { 'a2a-extensions': clientTools },
    { parts: [{ text: 'Please search.' }, use], metadata: { [clientTools]: request } },
  ],
])('a request is pushed %s', async (_, headers, expected) => {
  const { url, requests } = await startWebhookReceiver()
  const push = { fetch: createPushFetch({ loopback: 'allow' }) }
  const { wire } = await startTestServer(loop(), { push })
  await wire.send('go', { configuration: { taskPushNotificationConfig: { url } } }, headers)
  await until(() => requests.some(({ body }) => body.includes('INPUT_REQUIRED')))
  const body = JSON.parse(requests.find((webhook) => webhook.body.includes('INPUT_REQUIRED'))?.body ?? '{}')
  expect((body.statusUpdate ?? body.task).status.message).toMatchObject(expected)
})
