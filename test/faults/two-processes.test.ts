import { describe, expect, it, onTestFinished } from 'vitest'
import { collect } from '../support/async.ts'
import { createDatabase } from '../support/postgres/database.ts'
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

type OpenPlace = () => Promise<ProcessOptions>

const places: readonly (readonly [string, OpenPlace])[] = [
  ['one file', async () => ({})],
  ['one PostgreSQL', openPostgres],
]

async function openPostgres(): Promise<ProcessOptions> {
  const database = await createDatabase()
  onTestFinished(() => database.drop())
  return { postgres: { url: database.url } }
}

/** Two processes that start together in a new place. */
async function startPair(openPlace: OpenPlace, more: ProcessOptions = {}): Promise<Pair> {
  const directory = await temporaryDirectory()
  const options = { ...(await openPlace()), ...more }
  const [a, b] = await Promise.all([startServerProcess(directory, options), startServerProcess(directory, options)])
  return { directory, a, b }
}

const immediately = { configuration: { returnImmediately: true } }

describe.each(places)('two processes on %s', (_, openPlace) => {
  it('read the same tasks', async () => {
    const { a, b } = await startPair(openPlace)
    const task = await a.wire.sendTask('work')
    expect(await b.wire.getTask(task.id)).toEqual(task)
    expect((await b.wire.result<WirePage>('ListTasks')).tasks.map(({ id }) => id)).toEqual([task.id])
  })

  it('tell the same events: what happens in one is followed live in the other', async () => {
    const { a, b } = await startPair(openPlace)
    const { id } = await a.wire.sendTask('count', immediately)
    const seen: WireEvent[] = []
    for await (const event of b.wire.subscribe(id)) {
      seen.push(event)
      // So many have come although the task is still at work: they were not read in one go at its end.
      if (seen.length === 50) await a.wire.result('CancelTask', { id })
    }
    const generations = seen.map(({ generation = 0 }) => generation)
    expect(generations.length).toBeGreaterThan(50)
    expect(seen.at(-1)?.result?.statusUpdate?.status.state).toBe('TASK_STATE_CANCELED')

    const first = generations[0] ?? 0
    const told = await collect(a.wire.subscribe(id, { after: first }))
    expect(seen.slice(1).map(({ result }) => result)).toEqual(told.map(({ result }) => result))
  })

  it('cancel tasks of each other: the turn is aborted where it runs', async () => {
    const { directory, a, b } = await startPair(openPlace)
    const { id } = await a.wire.sendTask('hold forever', immediately)
    await eventually(async () => (await recordedTurns(directory)).length === 1)
    const followed = collect(a.wire.subscribe(id))
    // The turn ends by itself when its signal aborts, so nobody has to wait for the grace period.
    const canceled: WireTask = await b.wire.result('CancelTask', { id })
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED')
    const last = (await followed).at(-1)?.result
    expect((last?.statusUpdate ?? last?.task)?.status).toEqual(canceled.status)
  })

  it('run a follow-up once, where the task already is at work', async () => {
    const { directory, a, b } = await startPair(openPlace)
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
    const said = answered.history?.filter(({ role }) => role === 'ROLE_USER').map(({ parts }) => parts[0]?.text)
    expect(said).toEqual(['hold gate', 'more'])
  })

  it('take turns with a paused task', async () => {
    const { directory, a, b } = await startPair(openPlace)
    const { id } = await a.wire.sendTask('ask')
    expect((await b.wire.sendTask('this one', { taskId: id })).status.state).toBe('TASK_STATE_COMPLETED')
    expect((await recordedTurns(directory)).map(({ pid }) => pid)).toEqual([a.pid, b.pid])
  })

  it('run a send once that comes to both under one key', async () => {
    const { directory, a, b } = await startPair(openPlace)
    const sending = { messageId: 'm', contextId: 'c' }
    const answers = await Promise.all(
      [a, b, a, b].map(({ wire }) => wire.sendTask('work', sending, { 'idempotency-key': 'k' })),
    )
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    expect(await recordedTurns(directory)).toHaveLength(1)
  })

  it('store every message of many callers, and every task ends', async () => {
    const { directory, a, b } = await startPair(openPlace)
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
    // They were run in the order in which they were stored.
    expect(history.filter(isUser).map(({ parts }) => parts[0]?.text)).toEqual(ran)
  })

  it('let go of those who wait for a task that the other erases, and stop its turn', async () => {
    const { directory, a, b } = await startPair(openPlace, { turns: { leaseTtl: 1_000 } })
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
    // Nobody goes on with it, and nothing was run that waited for it.
    a.signal('SIGTERM')
    expect(await a.ended).toBe(0)
    expect((await recordedTurns(directory)).map(({ text }) => text)).toEqual(['hold forever', 'erase gone'])
  })

  it('take over from each other: when one is killed, the other fails its tasks', async () => {
    const { a, b } = await startPair(openPlace, { turns: { leaseTtl: 1_000 } })
    const { id } = await a.wire.sendTask('hold forever', immediately)
    const followed = collect(b.wire.subscribe(id))
    a.signal('SIGKILL')
    expect((await followed).at(-1)?.result?.statusUpdate?.status.state).toBe('TASK_STATE_FAILED')
  })
})

function isUser({ role }: { readonly role: string }): boolean {
  return role === 'ROLE_USER'
}
