import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { connect } from '../../../src/core/client/connect.ts'
import type { StreamEvent } from '../../../src/core/protocol/events.ts'
import { callOf, messageOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'

const extension = 'https://example.com/stars/v1'

/** Sets every member that A2A has for messages, statuses, artifacts and tasks. */
async function setting(turn: Turn): Promise<unknown> {
  const fields = { metadata: { of: 'message' }, extensions: [extension], referenceTaskIds: ['t-1'] }
  if (turn.text === 'reply') return { parts: ['hi'], ...fields }
  await turn.setMetadata({ ticket: 7, kept: true })
  await turn.status('working', { parts: ['Started'], ...fields }, { metadata: { of: 'status' } })
  const options = { metadata: { of: 'artifact' }, extensions: [extension], description: 'Words' }
  const words = turn.artifact('words', options)
  await words.write('one', { metadata: { of: 'event' } })
  await words.close({ parts: ['two'], metadata: { more: 1 } })
  await turn.data({ a: 1 }, 'facts', options)
  await turn.setMetadata({ ticket: 8 })
  return { parts: ['Done'], ...fields }
}

const isStatus = (event: StreamEvent) => event.type === 'status'

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  const open = async () => {
    const { server } = await startTestServer(setting as never, { grpc: true })
    return await openService(server.url, dialect, binding)
  }
  const isFirst = dialect === 'v0.1'
  // 0.1 has neither extensions nor references of messages.
  const ofMessage = {
    metadata: { of: 'message' },
    ...(!isFirst && { extensions: [extension], referenceTaskIds: ['t-1'] }),
  }

  it('an agent sets the metadata, extensions and references of its messages', async () => {
    const outcome = await (await open()).sendMessage({ message: messageOf('reply') }, callOf())
    const message = outcome.type === 'message' ? outcome.message : outcome.task.status.message
    expect(message).toMatchObject({ parts: [{ text: 'hi' }], ...ofMessage })
  })

  it('an agent sets the metadata of statuses, artifacts and the task', async () => {
    const service = await open()
    const events = await collect(service.streamMessage({ message: messageOf('go') }, callOf()))
    const started = events.find(
      (event) => isStatus(event) && event.status.message?.parts.some((part) => 'text' in part),
    )
    expect(started).toMatchObject({ metadata: { of: 'status' }, status: { message: ofMessage } })
    const [first, second, facts] = events.flatMap((event) => (event.type === 'artifact' ? [event] : []))
    const artifact = { metadata: { of: 'artifact' }, ...(!isFirst && { extensions: [extension] }) }
    expect(first).toMatchObject({ metadata: { of: 'event' }, artifact: { ...artifact, description: 'Words' } })
    expect(second).toMatchObject({ artifact: { metadata: { more: 1 } } })
    expect(facts).toMatchObject({ artifact })
    const [taskId = ''] = events.flatMap((event) => ('taskId' in event ? [event.taskId] : []))
    const task = await service.getTask({ taskId }, callOf())
    expect(task.metadata).toEqual({ ticket: 8, kept: true })
    expect(task.status.message).toMatchObject(ofMessage)
    expect(task.artifacts[0]).toMatchObject({
      metadata: { of: 'artifact', more: 1 },
      ...(!isFirst && { extensions: [extension] }),
    })
  })
})

it('the metadata of a task is in lists, and survives questions, answers and cancellation', async () => {
  const { wire } = await startTestServer(async (turn) => {
    if (turn.text === 'go') await turn.setMetadata({ ticket: 7 })
    await turn.requireInput('Which one?')
  })
  const { id, contextId } = await wire.sendTask('go')
  await wire.send('this one', { taskId: id })
  await wire.result('CancelTask', { id })
  const page = await wire.result<{ tasks: unknown[] }>('ListTasks', { contextId })
  expect(page.tasks).toMatchObject([{ id, metadata: { ticket: 7 }, status: { state: 'TASK_STATE_CANCELED' } }])
  expect(JSON.stringify(page)).not.toContain('taskMetadata')
})

it('the metadata of requests is kept in the task by option', async () => {
  const { server } = await startTestServer((turn) => turn.requireInput('Which one?'), { turns: { keepMetadata: true } })
  const client = await connect(server.url)
  const first = await client.send('go', { metadata: { a: 1, b: 1 } })
  expect(first.task?.metadata).toEqual({ a: 1, b: 1 })
  const second = await client.send('this', { metadata: { b: 2 }, taskId: first.task?.id ?? '' })
  expect(second.task?.metadata).toEqual({ a: 1, b: 2 })
  const immediate = await client.send('go', { metadata: { a: 1 }, returnImmediately: true })
  expect(immediate.task?.metadata).toEqual({ a: 1 })
  const { server: other } = await startTestServer((turn) => turn.requireInput('Which one?'))
  expect((await (await connect(other.url)).send('go', { metadata: { a: 1 } })).task?.metadata).toBeUndefined()
})

it('a client sets the metadata, extensions and references of its message, and the accepted types', async () => {
  const { server } = await startTestServer(
    async (turn) => {
      const { metadata, extensions, referenceTaskIds } = turn.message
      const { acceptedOutputModes, extensions: active } = turn
      const message = {
        metadata: metadata ?? {},
        extensions: extensions ?? [],
        referenceTaskIds: referenceTaskIds ?? [],
      }
      await turn.data({ message, request: turn.metadata, acceptedOutputModes, active })
    },
    { profile: { name: 'Test', extensions: [{ uri: extension }], skills: [{ id: 's', name: 'S' }] } },
  )
  const client = await connect(server.url)
  const { artifacts } = await client.send('go', {
    skill: 's',
    metadata: { of: 'request' },
    messageMetadata: { of: 'message' },
    extensions: [extension],
    referenceTaskIds: ['t-1'],
    acceptedOutputModes: ['application/json'],
  })
  expect(artifacts[0]?.data).toEqual([
    {
      message: { metadata: { of: 'message', skillId: 's' }, extensions: [extension], referenceTaskIds: ['t-1'] },
      request: { of: 'request' },
      acceptedOutputModes: ['application/json'],
      active: [extension],
    },
  ])
})

it('an agent that calls another one sends the members of the message', async () => {
  const answering = async (turn: Turn) => {
    const { metadata = {}, extensions = [], referenceTaskIds = [] } = turn.message
    const { acceptedOutputModes: modes, extensions: active } = turn
    return { data: { of: metadata.of ?? null, extensions, referenceTaskIds, modes, active } }
  }
  const profile = { name: 'Called', extensions: [{ uri: extension }] }
  const { server: called } = await startTestServer(answering, { profile })
  const { wire } = await startTestServer(async (turn) => {
    const content = { parts: ['hi'], metadata: { of: 'call' }, extensions: [extension], referenceTaskIds: ['t-1'] }
    const answer = await turn.call(await connect(called.url), content, { acceptedOutputModes: ['text/*'] })
    return answer.message?.parts ?? []
  })
  const parts = (await wire.send('go')).message?.parts
  expect(parts).toMatchObject([
    { data: { of: 'call', extensions: [extension], modes: ['text/*'], active: [extension] } },
  ])
  expect(JSON.stringify(parts)).toContain('"t-1"')
})

it('metadata that JSON cannot hold fails the task', async () => {
  const { wire } = await startTestServer(async (turn) => {
    await turn.setMetadata({ at: new Date() } as never)
  })
  const answer = await wire.call('SendMessage', {
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] },
  })
  expect(answer.error).toMatchObject({ code: -32006, message: expect.stringContaining('metadata.at') })
})
