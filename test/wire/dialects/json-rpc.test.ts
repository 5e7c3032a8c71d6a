import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { deferred, until } from '../../support/async.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { sendParams, type WireOutcome, type WirePage, type WireTask } from '../../support/wire/wire-client.ts'

/** Answers a greeting with a message, and everything else with a task. */
async function greet(turn: Turn): Promise<string | undefined> {
  if (turn.text === 'hello') return 'hi'
  await turn.status('working', 'On it')
  await turn.artifact('answer').close(turn.text.toUpperCase())
  if (turn.text === 'ask') await turn.requireInput('Which one?')
  return undefined
}

describe('SendMessage', () => {
  it('SendMessage returns the message of the agent', async () => {
    const { wire } = await startTestServer(greet)
    const { status, jsonrpc, id, result } = await wire.call<WireOutcome>('SendMessage', sendParams('hello'))
    expect({ status, jsonrpc, id }).toEqual({ status: 200, jsonrpc: '2.0', id: 1 })
    expect(result).toEqual({
      message: {
        messageId: expect.any(String),
        role: 'ROLE_AGENT',
        parts: [{ text: 'hi' }],
        contextId: expect.any(String),
      },
    })
  })

  it('SendMessage returns the finished task with its artifacts', async () => {
    const { wire } = await startTestServer(greet)
    const task = await wire.sendTask('loud', { messageId: 'm', contextId: 'c' })
    expect(task).toEqual({
      id: expect.any(String),
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED', timestamp: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) },
      artifacts: [{ artifactId: expect.any(String), name: 'answer', parts: [{ text: 'LOUD' }] }],
      history: [
        { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'loud' }], taskId: task.id, contextId: 'c' },
        {
          messageId: expect.any(String),
          role: 'ROLE_AGENT',
          parts: [{ text: 'On it' }],
          taskId: task.id,
          contextId: 'c',
        },
      ],
    })
  })

  it('SendMessage with returnImmediately does not wait for the agent', async () => {
    const done = deferred()
    const { wire } = await startTestServer(async (turn) => {
      await done.promise
      await turn.status('completed')
    })
    const task = await wire.sendTask('take your time', { configuration: { returnImmediately: true } })
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
    await until(async () => (await wire.getTask(task.id)).status.state === 'TASK_STATE_WORKING')
    done.resolve()
    await until(async () => (await wire.getTask(task.id)).status.state === 'TASK_STATE_COMPLETED')
  })

  it('SendMessage returns the requested length of history', async () => {
    const { wire } = await startTestServer(greet)
    const lengths: (number | undefined)[] = []
    for (const historyLength of [0, 1, 5]) {
      const { history } = await wire.sendTask('loud', { configuration: { historyLength } })
      lengths.push(history?.length)
    }
    expect(lengths).toEqual([undefined, 1, 2])
  })

  it('SendMessage continues a task that asked for input', async () => {
    const { wire } = await startTestServer(greet)
    const asking = await wire.sendTask('ask')
    expect(asking.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const { id, contextId, status } = await wire.sendTask('that one', { taskId: asking.id })
    expect({ id, contextId }).toEqual({ id: asking.id, contextId: asking.contextId })
    expect(status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('SendMessage rejects a task of another context, an unknown task and an ended one', async () => {
    const { wire } = await startTestServer(greet)
    const asking = await wire.sendTask('ask')
    const ended = await wire.sendTask('loud')
    const codeOf = async (target: object) => (await wire.call('SendMessage', sendParams('more', target))).error?.code
    expect(await codeOf({ taskId: asking.id, contextId: 'another' })).toBe(-32602)
    expect(await codeOf({ taskId: 'unknown' })).toBe(-32001)
    expect(await codeOf({ taskId: ended.id })).toBe(-32004)
  })
})

describe('an Idempotency-Key', () => {
  it('several sends with the same key create one task, also concurrently', async () => {
    let turns = 0
    const { wire } = await startTestServer(async (turn) => {
      turns++
      await turn.status('working')
    })
    const send = () => wire.sendTask('once', { messageId: 'm' }, { 'idempotency-key': 'k' })
    const tasks = [...(await Promise.all([send(), send(), send()])), await send()]
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1)
    expect(turns).toBe(1)
  })

  it('the same key with another body is a conflict', async () => {
    const { wire } = await startTestServer(greet)
    await wire.send('one', { messageId: 'm' }, { 'idempotency-key': 'k' })
    const { error } = await wire.call('SendMessage', sendParams('two', { messageId: 'm' }), { 'idempotency-key': 'k' })
    expect(error).toMatchObject({ code: -32602, data: [{ reason: expect.stringMatching(/CONFLICT$/) }] })
  })

  it('two sends with the same messageId but no key create two tasks', async () => {
    const { wire } = await startTestServer(greet)
    const [first, second] = [
      await wire.sendTask('same', { messageId: 'm' }),
      await wire.sendTask('same', { messageId: 'm' }),
    ]
    expect(first.id).not.toBe(second.id)
  })

  it('a messageId that is reused in a task with another text is another message', async () => {
    const texts: string[] = []
    const { wire } = await startTestServer(async (turn) => {
      texts.push(turn.text)
      await turn.requireInput('More?')
    })
    const { id: taskId } = await wire.sendTask('one', { messageId: 'm' })
    for (const text of ['two', 'three', 'two']) await wire.sendTask(text, { messageId: 'm', taskId })
    expect(texts).toEqual(['one', 'two', 'three'])
  })

  it('a messageId that is reused with another text is a conflict over REST if the operator says so', async () => {
    const { server, wire } = await startTestServer((turn) => turn.requireInput('More?').then(() => undefined), {
      turns: { reusedMessageId: 'reject' },
    })
    const { id: taskId } = await wire.sendTask('one', { messageId: 'm' })
    const response = await fetch(`${server.url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify(sendParams('two', { messageId: 'm', taskId })),
    })
    expect(response.status).toBe(409)
  })
})

describe('reading tasks', () => {
  it('GetTask returns the task as SendMessage did', async () => {
    const { wire } = await startTestServer(greet)
    const task = await wire.sendTask('loud')
    expect(await wire.getTask(task.id)).toEqual(task)
    expect((await wire.getTask(task.id, 1)).history).toEqual(task.history?.slice(-1))
    expect(await wire.getTask(task.id, 0)).not.toHaveProperty('history')
  })

  it('ListTasks pages through all tasks once, newest first', async () => {
    const { wire } = await startTestServer(greet)
    const sent: string[] = []
    for (let n = 0; n < 7; n++) sent.push((await wire.sendTask(`task ${n}`)).id)

    const listed: string[] = []
    const sizes: number[] = []
    let pageToken = ''
    do {
      const page: WirePage = await wire.result('ListTasks', { pageSize: 3, pageToken })
      expect({ pageSize: page.pageSize, totalSize: page.totalSize }).toEqual({ pageSize: 3, totalSize: 7 })
      sizes.push(page.tasks.length)
      listed.push(...page.tasks.map(({ id }) => id))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(sizes).toEqual([3, 3, 1])
    expect(listed).toEqual(sent.toReversed())
  })

  it('ListTasks filters, and omits artifacts by default', async () => {
    const { wire } = await startTestServer(greet)
    await wire.sendTask('loud', { contextId: 'c' })
    const asking = await wire.sendTask('ask', { contextId: 'c' })
    await wire.sendTask('ask')

    const filtered: WirePage = await wire.result('ListTasks', { contextId: 'c', status: 'TASK_STATE_INPUT_REQUIRED' })
    expect(filtered).toMatchObject({ tasks: [{ id: asking.id }], nextPageToken: '', totalSize: 1 })
    expect(filtered.tasks[0]).not.toHaveProperty('artifacts')
    expect(filtered.tasks[0]).not.toHaveProperty('history')
    const full: WirePage = await wire.result('ListTasks', { contextId: 'c', includeArtifacts: true })
    expect(full.tasks.map(({ artifacts }) => artifacts?.length)).toEqual([1, 1])
    const none: WirePage = await wire.result('ListTasks', { contextId: 'unused' })
    expect(none).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
  })

  it('a page token is valid only for its filters', async () => {
    const { wire } = await startTestServer(greet)
    for (let n = 0; n < 2; n++) await wire.sendTask('loud')
    const { nextPageToken } = await wire.result<WirePage>('ListTasks', { pageSize: 1 })
    for (const params of [{ contextId: 'c', pageToken: nextPageToken }, { pageToken: 'made up' }]) {
      expect((await wire.call('ListTasks', params)).error?.code).toBe(-32602)
    }
  })
})

describe('CancelTask', () => {
  it('CancelTask aborts the turn and returns the cancelled task', async () => {
    const aborted = deferred<unknown>()
    const { wire } = await startTestServer(async (turn) => {
      await turn.status('working')
      turn.signal.addEventListener('abort', () => aborted.resolve(turn.signal.reason))
      await aborted.promise
    })
    const { id } = await wire.sendTask('run', { configuration: { returnImmediately: true } })
    const canceled: WireTask = await wire.result('CancelTask', { id })
    expect(canceled).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect(`${await aborted.promise}`).toContain('canceled')
    expect((await wire.call('CancelTask', { id })).error?.code).toBe(-32002)
  })

  it('CancelTask ends a paused task', async () => {
    const { wire } = await startTestServer(greet)
    const { id } = await wire.sendTask('ask')
    expect(await wire.result('CancelTask', { id })).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } })
  })
})
