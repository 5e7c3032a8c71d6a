import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { generationOf } from '../../test/contracts/service/contract.ts'
import { collect, until } from '../../test/support/async.ts'
import type { Notice } from '../core/client/options.ts'
import type { StreamEvent } from '../core/protocol/events.ts'
import { createSqliteLog } from '../stores/sqlite/sqlite-log.ts'
import { type Fault, fault } from './faults.ts'
import { createPair } from './pair.ts'
import { scripted } from './scripted.ts'
import { createVirtualClock } from './virtual-clock.ts'

const letters = ['a', 'b', 'c', 'd', 'e', 'f']
const writing = scripted([{ status: 'working' }, { artifact: 'letters', chunks: letters }])

/** The submitted task, its status, one event per letter, and the final status. */
const whole = letters.length + 3

/** The event that closes the artifact is sent with the last letter, which has its number. */
const generations = [2, 3, ...letters.slice(1).map((_, n) => n + 4), letters.length + 4, letters.length + 5]

function lettersIn(events: readonly StreamEvent[]): readonly string[] {
  const parts = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
  return parts.map((part) => ('text' in part ? part.text : '')).filter((text) => text !== '')
}

type Trouble = readonly [string, readonly (Fault | readonly Fault[])[]]

const every = <T extends Fault>(faultAt: (n: number) => T, name: string, from = 1): readonly Trouble[] =>
  Array.from({ length: whole - from }, (_, n): Trouble => [`${name} ${from + n}`, [faultAt(from + n)]])

const troubles: readonly Trouble[] = [
  ...every(fault.cut, 'a connection that breaks after event'),
  ...every(fault.end, 'a stream that ends after event'),
  ...every(fault.silence, 'a connection that falls silent after event'),
  ...every(fault.drop, 'the loss of event', 2),
  ...every(fault.duplicate, 'a second copy of event'),
  ...every(fault.reorder, 'a reordered event', 2),
  ['a delay of event 1', [fault.delay(1, 30_000)]],
  ...every((n) => fault.delay(n, 600_000), 'a delay of event', 2),
  [
    'all faults together',
    [
      [fault.duplicate(2), fault.drop(3)],
      fault.cut(1),
      [fault.reorder(1), fault.cut(3)],
      fault.silence(0),
      [fault.delay(1, 90_000), fault.end(2)],
    ],
  ],
  ['streams that cannot be reopened at first', [fault.cut(2), fault.refuse(), fault.lose(), fault.refuse()]],
]

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('a stream over %s', (binding) => {
  it.each(troubles)('a stream survives %s: every event arrives once, in order', async (_, faults) => {
    const clock = createVirtualClock()
    const notices: Notice[] = []
    const connect = { bindings: [binding], onNotice: (notice: Notice) => void notices.push(notice) }
    await using opened = await createPair(writing, { clock, faults, connect })
    const events = await clock.run(collect(opened.client.stream('go')))
    expect(lettersIn(events)).toEqual(letters)
    expect(events.map(generationOf)).toEqual(generations)
    expect(events.at(-1)).toMatchObject({ type: 'status', status: { state: 'completed' }, isLast: true })
    expect(notices.filter(({ type }) => type === 'best-effort')).toEqual([])
  })
})

describe('a pair', () => {
  it('a pair can use any dialect and binding', async () => {
    await using opened = await createPair(writing, { connect: { dialects: ['v0.3'], bindings: ['HTTP+JSON'] } })
    expect((await opened.client.send('go')).text).toBe('abcdef')
    expect(opened.client.explain().endpoint).toMatchObject({ dialect: 'v0.3', binding: 'HTTP+JSON' })
  })

  it('failed calls are retried if that is safe', async () => {
    const clock = createVirtualClock()
    await using opened = await createPair(scripted([{ say: 'hi' }]), { clock })
    const { client, wire } = opened
    wire.fail(fault.refuse(), fault.refuse())
    expect((await clock.run(client.send('hello'))).text).toBe('hi')
    expect(wire.requests).toHaveLength(3)
    wire.fail(fault.lose())
    expect((await clock.run(client.send('hello'))).text).toBe('hi')
  })

  it('a call that may have run is not retried if the agent is not known to recognise repeated messages', async () => {
    const clock = createVirtualClock()
    await using opened = await createPair(scripted([{ say: 'hi' }]), { clock, connect: { peerDeduplicates: false } })
    opened.wire.fail(fault.lose())
    await expect(clock.run(opened.client.send('hello'))).rejects.toMatchObject({ reason: 'may-have-run' })
  })

  it('both sides use the virtual clock for deadlines, leases and retention', async () => {
    const clock = createVirtualClock()
    const hanging = scripted([{ status: 'working' }, { hang: true }])
    const serve = {
      turns: { deadline: 60_000, cancelGrace: 1_000 },
      retention: { ended: 3_600_000, tombstones: 3_600_000 },
    }
    await using opened = await createPair(hanging, { clock, serve })
    const { task } = await clock.run(opened.client.send('go', { returnImmediately: true }))
    const handle = opened.client.task(task?.id ?? '')
    await clock.advance(59_000)
    expect((await clock.run(handle.get())).status.state).toBe('working')
    await clock.advance(2_000)
    expect((await clock.run(handle.get())).status.state).toBe('failed')
    await clock.advance(3 * 3_600_000)
    await expect(clock.run(handle.get())).rejects.toMatchObject({ code: 'task-not-found' })
  })

  it('retention follows the virtual clock, whatever its start', async () => {
    const clock = createVirtualClock(Date.parse('2001-01-01T00:00:00Z'))
    const retention = { ended: 3_600_000, tombstones: 3_600_000 }
    await using opened = await createPair(scripted([{ status: 'working' }, { say: 'hi' }]), {
      clock,
      serve: { retention },
    })
    const { task } = await clock.run(opened.client.send('go'))
    expect(task?.status.timestamp).toMatch(/^2001-01-01T00:00:/)
    const handle = opened.client.task(task?.id ?? '')
    await clock.advance(1_800_000)
    expect((await clock.run(handle.get())).status.state).toBe('completed')
    await clock.advance(3 * 3_600_000)
    await expect(clock.run(handle.get())).rejects.toMatchObject({ code: 'task-not-found' })
  })

  it('the virtual clock drives the leases and the retention of a log in a file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'parley-pair-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const file = join(directory, 'tasks.db')
    const start = Date.parse('2001-01-01T00:00:00Z')
    // The clock of the first process stops; the second one keeps running.
    const dead = createVirtualClock(start)
    const alive = createVirtualClock(start)
    const serve = { turns: { leaseTtl: 30_000 }, retention: { ended: 3_600_000, tombstones: 3_600_000 } }
    const logs = [dead, alive].map((clock) => createSqliteLog({ file, clock }))
    onTestFinished(async () => void (await Promise.all(logs.map((log) => log.close()))))
    const hanging = scripted([{ status: 'working' }, { hang: true }])
    const [first, second] = logs
    await using lost = await createPair(hanging, { clock: dead, serve: { ...serve, log: first } })
    const { task } = await dead.run(lost.client.send('go', { returnImmediately: true }))
    await until(async () => (await first?.head(task?.id ?? ''))?.phase === 'working')
    await using opened = await createPair(hanging, { clock: alive, serve: { ...serve, log: second } })
    const handle = opened.client.task(task?.id ?? '')
    await alive.advance(20_000)
    // Not with `run`, which would advance the clock while the file is read in real time.
    expect((await handle.get()).status.state).toBe('working')
    await alive.advance(40_000)
    // The file is written in real time.
    const outcome = () =>
      alive.run(handle.get()).then(
        ({ status }) => status.state,
        ({ code }) => code,
      )
    await expect.poll(outcome).toBe('failed')
    await alive.advance(3 * 3_600_000)
    await expect.poll(outcome).toBe('task-not-found')
  })

  it('a pair can have several clients', async () => {
    await using opened = await createPair(writing)
    const { task } = await opened.client.send('go')
    const other = await opened.connect({ dialects: ['v0.3'] })
    expect((await other.task(task?.id ?? '').get()).status.state).toBe('completed')
  })
})
