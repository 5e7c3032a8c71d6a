import { expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { connect } from '../../src/client/connect.ts'
import type { ConnectOptions, Notice } from '../../src/client/options.ts'
import type { StreamEvent } from '../../src/protocol/events.ts'
import { textOf } from '../../src/protocol/model.ts'
import { collect, until } from '../support/async.ts'
import { faultyFetch } from '../support/wire/faulty-fetch.ts'
import { codeOf, describeEvent, stateOf, taskIdOf, textsOf } from './service/contract.ts'

/** A server of another SDK with the agent of `interop-agent.ts`, and what it can do. */
export interface SdkServer {
  /** Starts one for the test, and gives its origin. */
  readonly start: () => Promise<string>
  /** Made for each test, if it has to be released. */
  readonly options?: ConnectOptions | (() => ConnectOptions)
  /** The way that the client is to find. */
  readonly endpoint: { readonly dialect: string; readonly binding: string }
  readonly canList?: boolean
  /** Beyond one config per task: configs can be listed and deleted. */
  readonly canListConfigs?: boolean
  readonly hasExtendedCard?: boolean
  /** How a message to a task that has ended is refused. */
  readonly endedTaskError: string
  /** What makes streams break after so many events, one number each. */
  readonly withBrokenStreams?: (cuts: readonly number[]) => ConnectOptions
}

const numbers = ['one', 'two', 'three']

/** What our client does with every server of every SDK. */
export function sdkServerContract(server: SdkServer): void {
  const { start, options, endpoint, canList = false, canListConfigs = true, hasExtendedCard = true } = server
  const { withBrokenStreams = breakingFetch } = server
  const given = () => (typeof options === 'function' ? options() : options)
  const quick = { minDelay: 1, maxDelay: 10 }

  const open = async (more: ConnectOptions = {}): Promise<Client> =>
    await connect(await start(), { retry: quick, resume: quick, polling: quick, ...given(), ...more })

  /** A task that runs until it is canceled. */
  async function begin(client: Client): Promise<string> {
    const events = client.stream('wait')
    const { value } = await events.next()
    const id = taskIdOf(value)
    await until(async () => stateOf(await client.task(id).get()) === 'working')
    await events.return(undefined)
    return id
  }

  it('finds its way, and gets an answer', async () => {
    const client = await open()
    expect(client.card).toMatchObject({ name: 'Ada', skills: [{ id: 'count' }] })
    expect(await client.send('hello')).toMatchObject({ type: 'message', text: 'hi' })
    expect(client.explain().endpoint).toMatchObject(endpoint)
  })

  it('gets a task when it has ended, and the same task again later', async () => {
    const client = await open()
    const { task, text } = await client.send('count')
    expect(text).toBe('onetwothree')
    expect(task?.artifacts.map(textsOf)).toEqual(['one|two|three'])
    const again = await client.task(task?.id ?? '').get()
    expect(again.artifacts).toEqual(task?.artifacts)
    expect(again.status).toEqual(task?.status)
  })

  it('does not wait for the end if it says so', async () => {
    const client = await open()
    const { task } = await client.send('wait', { returnImmediately: true })
    expect(task?.status.state).toMatch(/^(submitted|working)$/)
    await client.task(task?.id ?? '').cancel()
  })

  it('reads every event of a stream in its order, until it ends', async () => {
    const events = await collect((await open()).stream('count'))
    expect(events.map(describeEvent).filter((words) => !/working|submitted/.test(words))).toEqual([
      'artifact one',
      'artifact two, more',
      'artifact three, more, last',
      'status completed: Counted',
    ])
    expect(events[0]?.type).toBe('task')
    expect(events.at(-1)?.isLast).toBe(true)
    expect(new Set(events.map(taskIdOf)).size).toBe(1)
  })

  it('reads a stream that is one message', async () => {
    expect((await collect((await open()).stream('hello'))).map(describeEvent)).toEqual(['message: hi'])
  })

  it('is asked, and answers', async () => {
    const conversation = (await open()).conversation()
    const asked = await conversation.send('ask')
    expect(asked.task?.status.state).toBe('input-required')
    const answered = await conversation.send('three')
    expect(answered.task).toMatchObject({ id: asked.task?.id, status: { state: 'completed' } })
  })

  it('is asked in a stream, which ends with the question', async () => {
    const events = await collect((await open()).stream('ask'))
    expect(describeEvent(events.at(-1) as StreamEvent)).toBe('status input-required: Up to what?')
  })

  it('gets the history of a task', async () => {
    const client = await open()
    const { task } = await client.send('count')
    const { history } = await client.task(task?.id ?? '').get({ historyLength: 10 })
    expect(history.map(textOf)).toContain('count')
  })

  it('cancels a task that runs, and none that has ended', async () => {
    const client = await open()
    const task = client.task(await begin(client))
    const canceled = await task.cancel()
    expect(['canceled', 'working']).toContain(canceled.status.state)
    await until(async () => stateOf(await task.get()) === 'canceled')
    const { task: done } = await client.send('count')
    expect(await codeOf(client.task(done?.id ?? '').cancel())).toBe('task-not-cancelable')
  })

  it('follows a task that runs until it ends', async () => {
    const client = await open()
    const task = client.task(await begin(client))
    const events = task.subscribe()
    expect(describeEvent((await events.next()).value as StreamEvent)).toMatch(/working/)
    await task.cancel()
    const rest = await collect(events)
    expect(describeEvent(rest.at(-1) as StreamEvent)).toMatch(/^(status|task) canceled/)
  })

  it('gets what has ended from whoever follows it too late', async () => {
    const client = await open()
    const { task } = await client.send('count')
    const events = await collect(client.task(task?.id ?? '').subscribe())
    expect(events.map(describeEvent)).toEqual(['task completed'])
    expect((await client.task(task?.id ?? '').wait()).text).toBe('onetwothree')
  })

  it.each([1, 2, 3, 4])('goes on with a stream that breaks after %d events', async (events) => {
    const notices: Notice[] = []
    const client = await open({ ...withBrokenStreams([events, 1]), onNotice: (notice) => notices.push(notice) })
    const told = await collect(client.stream('count'))
    const chunks = told.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
    const first = told[0]?.type === 'task' ? told[0].task.artifacts.flatMap(({ parts }) => parts) : []
    expect([...first, ...chunks].map((part) => ('text' in part ? part.text : ''))).toEqual(numbers)
    expect(describeEvent(told.at(-1) as StreamEvent)).toBe('status completed: Counted')
    expect(notices.filter(({ type }) => type === 'best-effort')).toHaveLength(1)
  })

  it('understands errors', async () => {
    const client = await open()
    const { task } = await client.send('count')
    const nobody = client.task('nobody-knows')
    expect(await codeOf(nobody.get())).toBe('task-not-found')
    expect(await codeOf(nobody.cancel())).toBe('task-not-found')
    expect(await codeOf(collect(nobody.subscribe()))).toBe('task-not-found')
    expect(await codeOf(client.send('more', { taskId: 'nobody-knows' }))).toBe('task-not-found')
    expect(await codeOf(client.send('more', { taskId: task?.id ?? '' }))).toBe(server.endedTaskError)
  })

  it('keeps push configs', async () => {
    const client = await open()
    const { task } = await client.send('count')
    const { push } = client.task(task?.id ?? '')
    const made = await push.create({ id: 'c', url: 'https://example.com/hook', token: 't' })
    expect(made).toMatchObject({ url: 'https://example.com/hook' })
    expect(await push.get('c')).toMatchObject({ url: 'https://example.com/hook', token: 't' })
    if (!canListConfigs) return
    expect((await collect(push.list())).map(({ url }) => url)).toEqual(['https://example.com/hook'])
    await push.delete('c')
    expect(await collect(push.list())).toEqual([])
  })

  it.runIf(canList)('lists tasks', async () => {
    const client = await open()
    const ids: string[] = []
    for (const _ of numbers) ids.push((await client.send('count')).task?.id ?? '')
    const listed = await collect(client.listTasks({ pageSize: 2 }))
    expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  })

  it.runIf(hasExtendedCard)('gets the extended card', async () => {
    expect(await (await open()).extendedCard()).toMatchObject({ name: 'Ada, extended' })
  })
}

function breakingFetch(cuts: readonly number[]): ConnectOptions {
  const { fetch } = faultyFetch({ fetch: (request) => globalThis.fetch(request) }, { cuts })
  return { fetch: (url, init) => fetch(new Request(url, init)) }
}
