import { describe, expect, it, onTestFinished } from 'vitest'
import { collect } from '../support/async.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import {
  eventually,
  type ProcessOptions,
  recordedTurns,
  release,
  type ServerProcess,
  startServerProcess,
} from '../support/processes/server-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { sendParams, type WireEvent, type WirePage, type WireTask } from '../support/wire/wire-client.ts'

interface Pair {
  readonly directory: string
  readonly a: ServerProcess
  readonly b: ServerProcess
}

type OpenStorage = () => Promise<ProcessOptions>

const storages: readonly (readonly [string, OpenStorage])[] = [
  ['one file', async () => ({})],
  ['one PostgreSQL', openPostgres],
]

async function openPostgres(): Promise<ProcessOptions> {
  const database = await takeDatabase()
  onTestFinished(() => database.release())
  return { postgres: { url: database.url } }
}

/** Starts two processes on new storage. */
async function startPair(openStorage: OpenStorage, overrides: ProcessOptions = {}): Promise<Pair> {
  const directory = await temporaryDirectory()
  const options = { ...(await openStorage()), ...overrides }
  const [a, b] = await Promise.all([startServerProcess(directory, options), startServerProcess(directory, options)])
  return { directory, a, b }
}

const immediately = { configuration: { returnImmediately: true } }

describe.each(storages)('two processes on %s', (_, openStorage) => {
  it('both processes read the same tasks', async () => {
    const { a, b } = await startPair(openStorage)
    const task = await a.wire.sendTask('work')
    expect(await b.wire.getTask(task.id)).toEqual(task)
    expect((await b.wire.result<WirePage>('ListTasks')).tasks.map(({ id }) => id)).toEqual([task.id])
  })

  it('a task in one process can be followed live in the other', async () => {
    const { a, b } = await startPair(openStorage)
    const { id } = await a.wire.sendTask('count', immediately)
    const seen: WireEvent[] = []
    for await (const event of b.wire.subscribe(id)) {
      seen.push(event)
      // The task is still running, so these events were followed live.
      if (seen.length === 50) await a.wire.result('CancelTask', { id })
    }
    const generations = seen.map(({ generation = 0 }) => generation)
    expect(generations.length).toBeGreaterThan(50)
    expect(seen.at(-1)?.result?.statusUpdate?.status.state).toBe('TASK_STATE_CANCELED')

    const first = generations[0] ?? 0
    const events = await collect(a.wire.subscribe(id, { after: first }))
    expect(seen.slice(1).map(({ result }) => result)).toEqual(events.map(({ result }) => result))
  })

  it('a task can be canceled from the other process', async () => {
    const { directory, a, b } = await startPair(openStorage)
    const { id } = await a.wire.sendTask('hold forever', immediately)
    await eventually(async () => (await recordedTurns(directory)).length === 1)
    const followed = collect(a.wire.subscribe(id))
    // The turn ends when its signal aborts, before the grace period.
    const canceled: WireTask = await b.wire.result('CancelTask', { id })
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED')
    const last = (await followed).at(-1)?.result
    expect((last?.statusUpdate ?? last?.task)?.status).toEqual(canceled.status)
  })

  it('a follow-up message runs once, in the process that runs the task', async () => {
    const { directory, a, b } = await startPair(openStorage)
    const { id } = await a.wire.sendTask('hold gate', immediately)
    const followed = b.wire.sendTask('more', { taskId: id })
    await eventually(async () => (await b.wire.getTask(id)).history?.at(-1)?.parts[0]?.text === 'more')
    await release(directory, 'gate')

    const answered = await followed
    expect(answered.status.state).toBe('TASK_STATE_COMPLETED')
    expect(await recordedTurns(directory)).toEqual([
      { pid: a.pid, text: 'hold gate' },
      { pid: a.pid, text: 'more' },
    ])
    const texts = answered.history?.filter(({ role }) => role === 'ROLE_USER').map(({ parts }) => parts[0]?.text)
    expect(texts).toEqual(['hold gate', 'more'])
  })

  it('a paused task can continue in the other process', async () => {
    const { directory, a, b } = await startPair(openStorage)
    const { id } = await a.wire.sendTask('ask')
    expect((await b.wire.sendTask('this one', { taskId: id })).status.state).toBe('TASK_STATE_COMPLETED')
    expect((await recordedTurns(directory)).map(({ pid }) => pid)).toEqual([a.pid, b.pid])
  })

  it('a send with one idempotency key to both processes runs once', async () => {
    const { directory, a, b } = await startPair(openStorage)
    const sending = { messageId: 'm', contextId: 'c' }
    const answers = await Promise.all(
      [a, b, a, b].map(({ wire }) => wire.sendTask('work', sending, { 'idempotency-key': 'k' })),
    )
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    expect(await recordedTurns(directory)).toHaveLength(1)
  })

  it('every message of many callers is stored and run', async () => {
    const { directory, a, b } = await startPair(openStorage)
    const { id } = await a.wire.sendTask('hold gate', immediately)
    const texts = Array.from({ length: 40 }, (_, index) => `message-${index}`)
    const sends = texts.map((text, index) => (index % 2 ? a : b).wire.sendTask(text, { taskId: id }))
    await eventually(async () => (await a.wire.getTask(id)).history?.filter(isUser).length === 41)
    await release(directory, 'gate')
    for (const { status } of await Promise.all(sends)) expect(status.state).toBe('TASK_STATE_COMPLETED')

    const ran = (await recordedTurns(directory)).map(({ text }) => text)
    expect(ran).toHaveLength(41)
    expect(ran.toSorted()).toEqual(['hold gate', ...texts].toSorted())
    const { history = [] } = await b.wire.getTask(id)
    // The messages were run in the order in which they were stored.
    expect(history.filter(isUser).map(({ parts }) => parts[0]?.text)).toEqual(ran)
  })

  it('an erasure ends the subscriptions and the turn in the other process', async () => {
    const { directory, a, b } = await startPair(openStorage, { turns: { leaseTtl: 1_000 } })
    const { id } = await a.wire.sendTask('hold forever', { contextId: 'gone', ...immediately })
    await eventually(async () => (await recordedTurns(directory)).length === 1)
    const followed = [a, b, b].map(({ wire }) => collect(wire.subscribe(id)))
    const blocked = b.wire.call('SendMessage', sendParams('more', { taskId: id }))
    await eventually(async () => (await a.wire.getTask(id)).history?.at(-1)?.parts[0]?.text === 'more')
    expect((await b.wire.send('erase gone')).message?.parts).toEqual([{ text: 'Erased 1' }])
    for (const events of await Promise.all(followed)) {
      expect(events.map(({ error }) => error)).toEqual(events.map(() => undefined))
    }
    expect((await blocked).error?.code).toBe(-32001)
    for (const { wire } of [a, b]) expect((await wire.call('GetTask', { id })).error?.code).toBe(-32001)
    // No process continues the turn, and the queued message was not run.
    a.signal('SIGTERM')
    expect(await a.ended).toBe(0)
    expect((await recordedTurns(directory)).map(({ text }) => text)).toEqual(['hold forever', 'erase gone'])
  })

  it('when one process is killed, the other fails its tasks', async () => {
    const { a, b } = await startPair(openStorage, { turns: { leaseTtl: 1_000 } })
    const { id } = await a.wire.sendTask('hold forever', immediately)
    const followed = collect(b.wire.subscribe(id))
    a.signal('SIGKILL')
    expect((await followed).at(-1)?.result?.statusUpdate?.status.state).toBe('TASK_STATE_FAILED')
  })
})

function isUser({ role }: { readonly role: string }): boolean {
  return role === 'ROLE_USER'
}
