import { describe, expect, it } from 'vitest'
import { releasedDialects } from '../../../src/core/dialects/versions.ts'
import { collect, until } from '../../support/async.ts'
import { type GrpcMessage, grpcClient, readAll } from '../../support/grpc/grpc-client.ts'
import { readDetails } from '../../support/grpc/status-details.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { shareTestServer, startTestServer } from '../../support/servers/test-server.ts'
import {
  type Headers,
  readEvents,
  sendParams,
  type WireEvent,
  type WireOutcome,
  type WireTask,
} from '../../support/wire/wire-client.ts'

const speak = [...releasedDialects, 'v1.1'] as const
const v1_1 = { 'a2a-version': '1.1' }
const service = 'lf.a2a.v1.A2AService'

/** Wakes the agent that waits at this text. */
const waiting = new Map<string, () => void>()

const shared = shareTestServer(
  async (turn) => {
    if (turn.text === 'ask') return void (await turn.requireInput('more?'))
    await turn.status('working', 'on it')
    if (turn.text.startsWith('wait')) await new Promise<void>((resolve) => waiting.set(turn.text, resolve))
    if (turn.text.includes('answer')) return 'done'
    const artifact = turn.artifact('report')
    for (const text of ['one ', 'two ', 'three']) await artifact.write(text)
    await artifact.close()
    return void (await turn.status('working', 'nearly'))
  },
  { grpc: true, dialects: { speak }, push: { loopback: 'allow' } },
)

type Counted = { readonly generation?: string | number }

/** The generation of a task or event, as a number. */
function generationIn(outcome: WireOutcome): number {
  const { generation } = (outcome.task ?? outcome.statusUpdate ?? outcome.artifactUpdate ?? {}) as Counted
  return Number(generation)
}

/** What an event is, for comparison. */
function kindOf(outcome: WireOutcome): string {
  const { task, statusUpdate, artifactUpdate } = outcome
  if (task) return `task ${task.status.state}`
  if (statusUpdate) return `status ${statusUpdate.status.state}`
  return `artifact ${artifactUpdate?.artifact.name ?? ''} ${artifactUpdate?.artifact.parts.map(({ text }) => text).join('')}`
}

/** A server-sent event of REST without its id. */
function outcomeOf(event: object): WireOutcome {
  const { generation: _, name: __, ...outcome } = event as GrpcMessage
  return outcome
}

const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const
type Binding = (typeof bindings)[number]

/** One client for each binding, with none of our code. */
function clientOf(binding: Binding, headers: Headers = v1_1) {
  const { server, wire } = shared()
  const base = server.url.replace(/\/$/, '')
  const rest = (path: string, body?: object) =>
    fetch(`${base}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
  const grpc = binding === 'GRPC' ? grpcClient(server.port) : undefined
  const json = async (response: Response) => await response.json()
  return {
    async stream(params: object): Promise<readonly WireOutcome[]> {
      if (grpc)
        return (await readAll(grpc.stream(`${service}/SendStreamingMessage`, params, { metadata: headers }))).messages
      if (binding === 'JSONRPC') {
        const events = await collect(wire.stream('SendStreamingMessage', params, { headers }))
        return events.map(({ result }) => result ?? {})
      }
      const events = await collect(readEvents(await rest('/message:stream', params)))
      return events.map(outcomeOf)
    },
    async send(params: object): Promise<WireOutcome> {
      if (grpc) return await grpc.unary(`${service}/SendMessage`, params, { metadata: headers })
      return binding === 'JSONRPC'
        ? await wire.result<WireOutcome>('SendMessage', params, headers)
        : await json(await rest('/message:send', params))
    },
    async get(id: string, currentGeneration?: number): Promise<WireTask & Counted> {
      if (grpc) return await grpc.unary(`${service}/GetTask`, { id, currentGeneration }, { metadata: headers })
      if (binding === 'JSONRPC') return await wire.result('GetTask', { id, currentGeneration }, headers)
      const query = currentGeneration === undefined ? '' : `?currentGeneration=${currentGeneration}`
      return await json(await rest(`/tasks/${id}${query}`))
    },
    async list(contextId: string): Promise<readonly (WireTask & Counted)[]> {
      if (grpc) return (await grpc.unary(`${service}/ListTasks`, { contextId }, { metadata: headers })).tasks
      if (binding === 'JSONRPC') {
        return (await wire.result<GrpcMessage>('ListTasks', { contextId }, headers)).tasks
      }
      return (await json(await rest(`/tasks?contextId=${contextId}`))).tasks
    },
    /** The code, the status and the details of the error that answers a message. */
    async failure(params: object): Promise<{ readonly code: unknown; readonly details: readonly GrpcMessage[] }> {
      if (grpc) {
        const error = await grpc
          .unary(`${service}/SendMessage`, params, { metadata: headers })
          .catch((thrown) => thrown)
        return { code: error.code, details: [readDetails(error)] }
      }
      if (binding === 'JSONRPC') {
        const { error } = await wire.call('SendMessage', params, headers)
        return { code: error?.code, details: error?.data ?? [] }
      }
      const response = await rest('/message:send', params)
      return { code: response.status, details: (await json(response)).error.details }
    },
  }
}

describe.each(bindings)('A2A 1.1 over %s', (binding) => {
  it('every event of a stream has the next generation, and the task has the last one', async () => {
    const client = clientOf(binding)
    const events = await client.stream(sendParams('work'))
    expect(events.map(generationIn)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(events.map(kindOf)).toEqual([
      'task TASK_STATE_SUBMITTED',
      'status TASK_STATE_WORKING',
      'artifact report one ',
      'artifact  two ',
      'artifact  three',
      'artifact  ',
      'status TASK_STATE_WORKING',
      'status TASK_STATE_COMPLETED',
    ])
    const answer = await client.stream(sendParams('answer'))
    expect(answer.map(generationIn)).toEqual([1, 2, 3, 4])
    expect(answer.map(kindOf).slice(2)).toEqual(['artifact answer done', 'status TASK_STATE_COMPLETED'])
    const { id = '', contextId = '' } = events[0]?.task ?? {}
    expect(Number((await client.get(id)).generation)).toBe(8)
    expect((await client.list(contextId)).map(({ generation }) => Number(generation))).toEqual([8])
    expect(generationIn(await client.send(sendParams('work')))).toBe(8)
  })

  it('callers of 1.0 see no generation, and their fields are ignored', async () => {
    const client = clientOf(binding, binding === 'GRPC' ? {} : { 'a2a-version': '1.0' })
    const params = sendParams('work', { configuration: { ifGenerationMatch: 77 } })
    const events = await client.stream(params)
    expect(JSON.stringify(events)).not.toMatch(/"generation"/)
    // Their streams keep the form that their readers expect: the last chunk closes its artifact.
    expect(events.map(kindOf)).not.toContain('artifact  ')
    const { task } = await client.send(sendParams('ask'))
    const answered = await client.send(
      sendParams('ask', { taskId: task?.id ?? '', configuration: { ifGenerationMatch: 77 } }),
    )
    expect(answered.task?.id).toBe(task?.id)
    expect((await client.get(task?.id ?? '', 1_000)).id).toBe(task?.id)
  })

  it('a get with the current generation is answered when the task changes', async () => {
    const client = clientOf(binding)
    const text = `wait ${binding}`
    const { task } = await client.send(sendParams(text, { configuration: { returnImmediately: true } }))
    const id = task?.id ?? ''
    await until(() => waiting.has(text))
    const current = Number((await client.get(id)).generation)
    expect(current).toBe(2)
    expect(Number((await client.get(id, current - 1)).generation)).toBe(current)
    let isAnswered = false
    const changed = client.get(id, current).finally(() => {
      isAnswered = true
    })
    await client.get(id)
    expect(isAnswered).toBe(false)
    waiting.get(text)?.()
    expect(Number((await changed).generation)).toBeGreaterThan(current)
  })

  it('a message for another generation is refused with both numbers', async () => {
    const client = clientOf(binding)
    const { task } = await client.send(sendParams('ask'))
    const taskId = task?.id ?? ''
    const current = Number((task as Counted | undefined)?.generation)
    expect(current).toBe(2)
    const expected = { JSONRPC: -32010, 'HTTP+JSON': 409, GRPC: 10 }
    const { code, details } = await client.failure(
      sendParams('ask', { taskId, configuration: { ifGenerationMatch: 1 } }),
    )
    expect(code).toBe(expected[binding])
    const metadata = { taskId, expectedGeneration: '1', currentGeneration: '2' }
    const info = { reason: 'TASK_GENERATION_MISMATCH', domain: 'a2a-protocol.org', metadata }
    if (binding !== 'GRPC') expect(details[0]).toMatchObject(info)
    else
      for (const text of [info.reason, info.domain, ...Object.keys(metadata), taskId])
        expect(details[0]).toContain(text)
    const accepted = await client.send(sendParams('ask', { taskId, configuration: { ifGenerationMatch: current } }))
    expect(generationIn(accepted)).toBe(4)
    const created = await client.send(sendParams('ask', { configuration: { ifGenerationMatch: 77 } }))
    expect(generationIn(created)).toBe(2)
  })
})

/** Opens a stream: resolves when its first event is there, with all events until its end. */
async function opened<T>(
  events: AsyncGenerator<T>,
): Promise<{ readonly first: T; readonly all: Promise<readonly T[]> }> {
  const { value, done } = await events.next()
  if (done) throw new Error('the stream has no event')
  return { first: value, all: collect(events).then((rest) => [value, ...rest]) }
}

it.each(['an artifact', 'an answer'])('every reader and every replay gets the same numbers: %s', async (result) => {
  const { wire } = shared()
  const summaryOf = ({ result: outcome = {} }: WireEvent) => [generationIn(outcome), kindOf(outcome)] as const
  const subscribe = (id: string, headers: Headers) => opened(wire.subscribe(id, { headers: { ...v1_1, ...headers } }))
  const readers: readonly Headers[] = [
    {},
    { 'user-agent': 'agent-framework-python/1.0' },
    { 'a2a-extensions': 'https://a2ui.org/a2a-extension/a2ui/v0.8' },
  ]
  const text = `wait for ${result}`
  // As Google ADK marks its messages, whose readers get whole artifacts in other versions.
  const { message } = sendParams(text)
  const marked = { ...message, parts: [{ text, metadata: { is_user_input: true } }] }
  const sending = await opened(wire.stream('SendStreamingMessage', { message: marked }, { headers: v1_1 }))
  const id = sending.first.result?.task?.id ?? ''
  await until(() => waiting.has(text))
  const live = await Promise.all(readers.map((headers) => subscribe(id, headers)))
  waiting.get(text)?.()
  const sent = (await sending.all).map(summaryOf)
  expect(sent.map(([generation]) => generation)).toEqual(sent.map((_, index) => index + 1))
  expect(sent).toHaveLength(result === 'an answer' ? 4 : 8)
  for (const { all } of live) expect((await all).map(summaryOf).slice(1)).toEqual(sent.slice(2))
  // The position in the log stays what a stream resumes after: the message is event 1, and the answer is one event.
  for (const after of result === 'an answer' ? [2, 3] : [2, 3, 5, 8]) {
    const replayed = await collect(wire.subscribe(id, { headers: v1_1, after }))
    expect(replayed.map(summaryOf)).toEqual(sent.slice(after - 1))
  }
})

it('one task is right for 1.1, 1.0, 0.3 and 0.1 callers that read it at once', async () => {
  const { server, wire } = shared()
  const text = 'wait mixed'
  const { task } = await clientOf('JSONRPC').send(sendParams(text, { configuration: { returnImmediately: true } }))
  const id = task?.id ?? ''
  await until(() => waiting.has(text))
  async function* legacy(version: string, params: object) {
    const headers = { 'content-type': 'application/json', ...(version && { 'a2a-version': version }) }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params })
    yield* readEvents(await fetch(server.url, { method: 'POST', headers, body }))
  }
  const streams = [
    await opened(wire.subscribe(id, { headers: v1_1 })),
    await opened(wire.subscribe(id)),
    await opened(legacy('0.3', { id })),
    await opened(legacy('', { id, historyLength: 0 })),
  ]
  const polled = clientOf('JSONRPC').get(id, 2)
  waiting.get(text)?.()
  const results = await Promise.all(
    streams.map(async ({ all }) => (await all).map(({ result }) => result as GrpcMessage)),
  )
  const [v11 = [], v10 = [], v03 = [], v01 = []] = results
  expect(v11.map(generationIn)).toEqual([2, 3, 4, 5, 6, 7, 8])
  for (const other of [v10, v03, v01]) expect(JSON.stringify(other)).not.toContain('generation')
  expect(v10.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  expect(v03.at(-1)).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } })
  expect(v01.at(-1)).toMatchObject({ final: true, status: { state: 'completed' } })
  expect(Number((await polled).generation)).toBeGreaterThan(2)
  const textsIn = (value: unknown) =>
    [...JSON.stringify(value).matchAll(/"text":"((?:one|two|three)[^"]*)"/g)].map(([, found]) => found)
  for (const each of results) expect(textsIn(each).join('')).toContain('one two three')
})

it('a webhook of 1.1 gets every number: the answer comes with its task', async () => {
  const receiver = await startWebhookReceiver()
  const taskPushNotificationConfig = { url: `${receiver.url}/hook` }
  await clientOf('JSONRPC').send(sendParams('answer', { configuration: { taskPushNotificationConfig } }))
  await until(() => receiver.requests.some(({ body }) => body.includes('TASK_STATE_COMPLETED')))
  const outcomes = receiver.requests.map(({ body }) => JSON.parse(body) as WireOutcome)
  expect(outcomes.map(generationIn)).toEqual([1, 2, 4])
  expect(outcomes.at(-1)?.task?.artifacts?.map(({ name }) => name)).toEqual(['answer'])
})

it('a server speaks 1.1 only where it is named, and then its card names it', async () => {
  const versionsOf = async (url: string) => {
    const card = await (await fetch(new URL('/.well-known/agent-card.json', url))).json()
    return [
      ...new Set(
        (card.supportedInterfaces as readonly { protocolVersion: string }[]).map((each) => each.protocolVersion),
      ),
    ]
  }
  expect(await versionsOf(shared().server.url)).toEqual(['1.0', '1.1', '0.3', '0.2', '0.1'])
  const { server, wire } = await startTestServer(async () => 'hi', { grpc: true })
  expect(await versionsOf(server.url)).toEqual(['1.0', '0.3', '0.2', '0.1'])
  const refused = await wire.call('GetTask', { id: 'x' }, v1_1)
  expect(refused.error).toMatchObject({
    code: -32009,
    data: [{ metadata: { supportedVersions: '1.0, 0.3, 0.2, 0.1' } }],
  })
  expect((await fetch(new URL('/tasks/x', server.url), { headers: v1_1 })).status).toBe(400)
  const call = grpcClient(server.port).unary(`${service}/GetTask`, { id: 'x' }, { metadata: v1_1 })
  await expect(call).rejects.toMatchObject({ details: expect.stringContaining('does not speak A2A 1.1') })
})

it('a server may speak 1.1 alone', async () => {
  const { server, wire } = await startTestServer((turn) => turn.requireInput('?'), { dialects: { speak: ['v1.1'] } })
  const { task } = await wire.send('x', {}, v1_1)
  expect((task as Counted | undefined)?.generation).toBe('2')
  const card = await (await fetch(new URL('/.well-known/agent-card.json', server.url))).json()
  expect(card.supportedInterfaces[0]).toMatchObject({ protocolVersion: '1.1' })
})

it.each([-1, 1.5, 'x', '99999999999999999'])('a generation that is none is rejected: %s', async (currentGeneration) => {
  const { error } = await shared().wire.call('GetTask', { id: 'x', currentGeneration }, v1_1)
  expect(error).toMatchObject({
    code: -32602,
    message: expect.stringContaining('currentGeneration: expected an integer'),
  })
})
