import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  type StreamResponse,
  SubscribeToTaskRequest,
  TaskState,
} from '@a2a-js/sdk'
import { type Client, ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import {
  isJsonRpcError,
  PushNotificationNotSupportedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/agent/turn.ts'
import { collect, gate, until } from '../support/house.ts'
import { served } from '../support/served.ts'

async function open(run: (turn: Turn) => Promise<string | undefined>): Promise<Client> {
  const { server } = await served(run, { profile: { name: 'Ada', description: 'Counts', version: '2.1.0' } })
  return await new ClientFactory({ transports: [new JsonRpcTransportFactory()] }).createFromUrl(server.url)
}

async function count(turn: Turn): Promise<string | undefined> {
  if (turn.text === 'hello') return 'hi'
  const numbers = turn.artifact('numbers')
  for (const number of ['one', 'two', 'three']) await numbers.write(number)
  await numbers.close()
  if (turn.text === 'ask') await turn.requireInput('Which one?')
  return undefined
}

function message(text: string, more: object = {}, configuration: object = {}) {
  const parts = [{ text }]
  return SendMessageRequest.fromJSON({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...more },
    configuration,
  })
}

async function sendTask(client: Client, ...sending: Parameters<typeof message>) {
  const task = await client.sendMessage(message(...sending))
  if (!('status' in task)) throw new Error(`expected a task, got ${JSON.stringify(task)}`)
  return task
}

/** What an event of the official stream says, in a word. */
function wordOf({ payload }: StreamResponse): string {
  switch (payload?.$case) {
    case 'task':
      return `task ${TaskState[payload.value.status?.state ?? 0]}`
    case 'statusUpdate':
      return `status ${TaskState[payload.value.status?.state ?? 0]}`
    case 'artifactUpdate': {
      const { artifact, append, lastChunk } = payload.value
      const content = artifact?.parts[0]?.content
      return `artifact ${content?.$case === 'text' ? content.value : ''} ${append} ${lastChunk}`
    }
    default:
      return `${payload?.$case}`
  }
}

describe('the official client of A2A 1.0', () => {
  it('finds the card and chooses JSON-RPC 1.0', async () => {
    const client = await open(count)
    expect(client.protocolVersion).toBe('1.0')
    expect(client.transport.protocolName).toBe('JSONRPC')
    expect(await client.getAgentCard()).toMatchObject({ name: 'Ada', description: 'Counts', version: '2.1.0' })
  })

  it('sends and gets a message', async () => {
    const client = await open(count)
    expect(await client.sendMessage(message('hello'))).toMatchObject({
      parts: [{ content: { $case: 'text', value: 'hi' } }],
    })
  })

  it('sends and gets a task, and gets the same task again', async () => {
    const client = await open(count)
    const task = await sendTask(client, 'go')
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(task.artifacts).toMatchObject([{ name: 'numbers', parts: [{}, {}, {}] }])
    expect(await client.getTask(GetTaskRequest.fromJSON({ id: task.id }))).toEqual(task)
  })

  it('streams a task from its beginning to its end', async () => {
    const client = await open(count)
    expect((await collect(client.sendMessageStream(message('go')))).map(wordOf)).toEqual([
      'task TASK_STATE_WORKING',
      'artifact one false false',
      'artifact two true false',
      'artifact three true false',
      'artifact  true true',
      'status TASK_STATE_COMPLETED',
    ])
  })

  it('streams a message', async () => {
    const client = await open(count)
    expect((await collect(client.sendMessageStream(message('hello')))).map(wordOf)).toEqual(['message'])
  })

  it('goes on with a paused task', async () => {
    const client = await open(count)
    const { id, contextId, status } = await sendTask(client, 'ask')
    expect(status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
    const ended = await sendTask(client, 'that one', { taskId: id, contextId })
    expect(ended).toMatchObject({ id, contextId, status: { state: TaskState.TASK_STATE_COMPLETED } })
  })

  it('lists tasks page by page', async () => {
    const client = await open(count)
    const sent: string[] = []
    for (let n = 0; n < 3; n++) sent.push((await sendTask(client, 'go', { contextId: 'c' })).id)
    const first = await client.listTasks(ListTasksRequest.fromJSON({ contextId: 'c', pageSize: 2 }))
    const { nextPageToken: pageToken, totalSize } = first
    const second = await client.listTasks(ListTasksRequest.fromJSON({ contextId: 'c', pageSize: 2, pageToken }))
    expect(totalSize).toBe(3)
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(sent.toReversed())
    expect(second.nextPageToken).toBe('')
  })

  it('polls, cancels, and reads the end of the stream it had dropped', async () => {
    const begun = gate()
    const client = await open(async (turn) => {
      await turn.status('working', 'Counting')
      begun.resolve()
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      return undefined
    })
    const { id } = await sendTask(client, 'go', {}, { returnImmediately: true })
    await begun.promise
    const events = client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id }))
    const { value: first } = await events.next()
    expect(first && wordOf(first)).toBe('task TASK_STATE_WORKING')
    const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id }))
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    expect((await collect(events)).map(wordOf)).toEqual(['status TASK_STATE_CANCELED'])
  })

  it('may leave a stream without harm to the task', async () => {
    const go = gate()
    const client = await open(async (turn) => {
      await turn.status('working')
      await go.promise
      return undefined
    })
    let id = ''
    for await (const { payload } of client.sendMessageStream(message('go'))) {
      id = payload?.$case === 'task' ? payload.value.id : id
      break
    }
    go.resolve()
    const get = () => client.getTask(GetTaskRequest.fromJSON({ id }))
    await until(async () => (await get()).status?.state === TaskState.TASK_STATE_COMPLETED)
  })

  it('understands our errors', async () => {
    const client = await open(count)
    const ended = await sendTask(client, 'go')
    const id = 'nobody-knows'
    await expect(client.getTask(GetTaskRequest.fromJSON({ id }))).rejects.toBeInstanceOf(TaskNotFoundError)
    await expect(collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id })))).rejects.toBeInstanceOf(
      TaskNotFoundError,
    )
    await expect(client.cancelTask(CancelTaskRequest.fromJSON({ id: ended.id }))).rejects.toBeInstanceOf(
      TaskNotCancelableError,
    )
    await expect(client.sendMessage(message('more', { taskId: ended.id }))).rejects.toBeInstanceOf(
      UnsupportedOperationError,
    )
    const push = { taskPushNotificationConfig: { url: 'https://example.com/hook' } }
    await expect(client.sendMessage(message('go', {}, push))).rejects.toBeInstanceOf(PushNotificationNotSupportedError)
    const invalid = await client.sendMessage(message('go', { messageId: '' })).catch((error) => error)
    expect(isJsonRpcError(invalid) && invalid.envelopeCode).toBe(-32602)
  })
})
