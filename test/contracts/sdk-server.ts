import { expect, it } from 'vitest'
import type { Client } from '../../src/core/client/client.ts'
import { connect } from '../../src/core/client/connect.ts'
import type { ConnectOptions, Notice } from '../../src/core/client/options.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { textOf } from '../../src/core/protocol/model.ts'
import { collect, until } from '../support/async.ts'
import { faultyFetch } from '../support/wire/faulty-fetch.ts'
import { codeOf, describeEvent, stateOf, taskIdOf, textsOf } from './service/contract.ts'

/** A server of an SDK with the agent of `interop-agent.ts`, and the features it supports. */
export interface SdkServer {
  /** Starts a server for the test and returns its origin. */
  readonly start: () => Promise<string>
  /** Client options. A function is called for each test. */
  readonly options?: ConnectOptions | (() => ConnectOptions)
  /** The endpoint that the client must choose. */
  readonly endpoint: { readonly dialect: string; readonly binding: string }
  readonly canList?: boolean
  /** Whether push configs can be listed and deleted. */
  readonly canListConfigs?: boolean
  readonly hasExtendedCard?: boolean
  /** The error code of a message to an ended task. */
  readonly endedTaskError: string
  /** Options that break each stream after the given number of events. */
  readonly withBrokenStreams?: (cuts: readonly number[]) => ConnectOptions
}

const numbers = ['one', 'two', 'three']

/** The behaviour of our client with the servers of every SDK. */
export function sdkServerContract(server: SdkServer): void {
  const { start, options, endpoint, canList = false, canListConfigs = true, hasExtendedCard = true } = server
  const { withBrokenStreams = breakingFetch } = server
  const clientOptions = () => (typeof options === 'function' ? options() : options)
  const quick = { minDelay: 1, maxDelay: 10 }

  const open = async (overrides: ConnectOptions = {}): Promise<Client> =>
    await connect(await start(), { retry: quick, resume: quick, polling: quick, ...clientOptions(), ...overrides })

  /** Starts a task that runs until it is canceled. */
  async function startTask(client: Client): Promise<string> {
    const events = client.stream('wait')
    const { value } = await events.next()
    const id = taskIdOf(value)
    await until(async () => stateOf(await client.task(id).get()) === 'working')
    await events.return(undefined)
    return id
  }

  it('the client connects and gets an answer', async () => {
    const client = await open()
    expect(client.card).toMatchObject({ name: 'Ada', skills: [{ id: 'count' }] })
    expect(await client.send('hello')).toMatchObject({ type: 'message', text: 'hi' })
    expect(client.explain().endpoint).toMatchObject(endpoint)
  })

  it('the client gets the completed task, and can read it again', async () => {
    const client = await open()
    const { task, text, output } = await client.send('count')
    expect([text, output.text]).toEqual(['Counted', 'onetwothree'])
    expect(task?.artifacts.map(textsOf)).toEqual(['one|two|three'])
    const again = await client.task(task?.id ?? '').get()
    expect(again.artifacts).toEqual(task?.artifacts)
    expect(again.status).toEqual(task?.status)
  })

  it('a send with returnImmediately does not wait for the result', async () => {
    const client = await open()
    const { task } = await client.send('wait', { returnImmediately: true })
    expect(task?.status.state).toMatch(/^(submitted|working)$/)
    await client.task(task?.id ?? '').cancel()
  })

  it('the client reads all events of a stream in order', async () => {
    const events = await collect((await open()).stream('count'))
    expect(events.map(describeEvent).filter((text) => !/working|submitted/.test(text))).toEqual([
      'artifact one',
      'artifact two, more',
      'artifact three, more, last',
      'status completed: Counted',
    ])
    expect(events[0]?.type).toBe('task')
    expect(events.at(-1)?.isLast).toBe(true)
    expect(new Set(events.map(taskIdOf)).size).toBe(1)
  })

  it('the client reads a stream of one message', async () => {
    expect((await collect((await open()).stream('hello'))).map(describeEvent)).toEqual(['message: hi'])
  })

  it('the client answers a question', async () => {
    const conversation = (await open()).conversation()
    const question = await conversation.send('ask')
    expect(question.task?.status.state).toBe('input-required')
    const answer = await conversation.send('three')
    expect(answer.task).toMatchObject({ id: question.task?.id, status: { state: 'completed' } })
  })

  it('a stream ends with a question', async () => {
    const events = await collect((await open()).stream('ask'))
    expect(describeEvent(events.at(-1) as StreamEvent)).toBe('status input-required: Up to what?')
  })

  it('the client reads the history of a task', async () => {
    const client = await open()
    const { task } = await client.send('count')
    const { history } = await client.task(task?.id ?? '').get({ historyLength: 10 })
    expect(history.map(textOf)).toContain('count')
  })

  it('the client can cancel a running task, but not an ended one', async () => {
    const client = await open()
    const task = client.task(await startTask(client))
    const canceled = await task.cancel()
    expect(['canceled', 'working']).toContain(canceled.status.state)
    await until(async () => stateOf(await task.get()) === 'canceled')
    const { task: done } = await client.send('count')
    expect(await codeOf(client.task(done?.id ?? '').cancel())).toBe('task-not-cancelable')
  })

  it('the client follows a running task until it ends', async () => {
    const client = await open()
    const task = client.task(await startTask(client))
    const events = task.subscribe()
    expect(describeEvent((await events.next()).value as StreamEvent)).toMatch(/working/)
    await task.cancel()
    const rest = await collect(events)
    expect(describeEvent(rest.at(-1) as StreamEvent)).toMatch(/^(status|task) canceled/)
  })

  it('a subscription to an ended task yields the task', async () => {
    const client = await open()
    const { task } = await client.send('count')
    const events = await collect(client.task(task?.id ?? '').subscribe())
    expect(events.map(describeEvent)).toEqual(['task completed'])
    expect((await client.task(task?.id ?? '').wait()).output.text).toBe('onetwothree')
  })

  it.each([1, 2, 3, 4])('a stream that breaks after %d events is resumed', async (events) => {
    const notices: Notice[] = []
    const client = await open({ ...withBrokenStreams([events, 1]), onNotice: (notice) => notices.push(notice) })
    const received = await collect(client.stream('count'))
    const chunks = received.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
    const first = received[0]?.type === 'task' ? received[0].task.artifacts.flatMap(({ parts }) => parts) : []
    expect([...first, ...chunks].map((part) => ('text' in part ? part.text : ''))).toEqual(numbers)
    expect(describeEvent(received.at(-1) as StreamEvent)).toBe('status completed: Counted')
    expect(notices.filter(({ type }) => type === 'best-effort')).toHaveLength(1)
  })

  it('the client recognises the errors of the server', async () => {
    const client = await open()
    const { task } = await client.send('count')
    const unknown = client.task('unknown-task')
    expect(await codeOf(unknown.get())).toBe('task-not-found')
    expect(await codeOf(unknown.cancel())).toBe('task-not-found')
    expect(await codeOf(collect(unknown.subscribe()))).toBe('task-not-found')
    expect(await codeOf(client.send('more', { taskId: 'unknown-task' }))).toBe('task-not-found')
    expect(await codeOf(client.send('more', { taskId: task?.id ?? '' }))).toBe(server.endedTaskError)
  })

  it('push configs can be created, read, listed and deleted', async () => {
    const client = await open()
    const { task } = await client.send('count')
    const { push } = client.task(task?.id ?? '')
    const created = await push.create({ id: 'c', url: 'https://example.com/hook', token: 't' })
    expect(created).toMatchObject({ url: 'https://example.com/hook' })
    expect(await push.get('c')).toMatchObject({ url: 'https://example.com/hook', token: 't' })
    if (!canListConfigs) return
    expect((await collect(push.list())).map(({ url }) => url)).toEqual(['https://example.com/hook'])
    await push.delete('c')
    expect(await collect(push.list())).toEqual([])
  })

  it.runIf(canList)('tasks can be listed', async () => {
    const client = await open()
    const ids: string[] = []
    for (const _ of numbers) ids.push((await client.send('count')).task?.id ?? '')
    const listed = await collect(client.listTasks({ pageSize: 2 }))
    expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  })

  it.runIf(hasExtendedCard)('the extended card can be read', async () => {
    expect(await (await open()).extendedCard()).toMatchObject({ name: 'Ada, extended' })
  })
}

function breakingFetch(cuts: readonly number[]): ConnectOptions {
  const { fetch } = faultyFetch({ fetch: (request) => globalThis.fetch(request) }, { cuts })
  return { fetch: (url, init) => fetch(new Request(url, init)) }
}
