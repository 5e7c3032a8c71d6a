import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { collect } from '../support/async.ts'
import {
  eventually,
  recordedTurns,
  release,
  type ServerProcess,
  startServerProcess,
} from '../support/processes/server-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import type { WireClient, WireEvent, WirePage } from '../support/wire/wire-client.ts'

const turnsOf = async (directory: string) => (await recordedTurns(directory)).length

/** Whether the server refuses requests or connections. */
async function isClosed({ url, wire }: ServerProcess): Promise<boolean> {
  try {
    const health = await fetch(`${url}/healthz`)
    if (health.status !== 503) return false
    const { status } = await wire.call('SendMessage', { message: {} })
    return status === 503
  } catch (error) {
    return error instanceof TypeError
  }
}

async function firstOf(events: AsyncGenerator<WireEvent>): Promise<WireEvent> {
  const { value, done } = await events.next()
  if (done) throw new Error('the stream ended early')
  return value
}

async function workingTasks(wire: WireClient): Promise<number> {
  return (await wire.result<WirePage>('ListTasks', { status: 'TASK_STATE_WORKING' })).totalSize
}

describe('SIGTERM', () => {
  it('a running turn finishes, new requests are refused, and the exit code is 0', async () => {
    const directory = await temporaryDirectory()
    const server = await startServerProcess(directory)
    const sent = server.wire.sendTask('hold gate')
    const streamed = collect(server.wire.sendStream('hold gate'))
    await eventually(async () => (await turnsOf(directory)) === 2)
    server.signal('SIGTERM')
    await eventually(() => isClosed(server))
    await release(directory, 'gate')
    expect((await sent).status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { parts: [{ text: 'Released' }] },
    })
    expect((await streamed).at(-1)?.result?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(await server.ended).toBe(0)
    expect(server.stderr()).toBe('')
  })

  it('the streams of paused tasks end cleanly and can be resumed after a restart', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory)
    const { id } = await first.wire.sendTask('ask')
    const events = first.wire.subscribe(id)
    const { generation, result } = await firstOf(events)
    expect(result?.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    first.signal('SIGTERM')
    // A broken connection would throw here.
    expect(await collect(events)).toEqual([])
    expect(await first.ended).toBe(0)

    const { wire } = await startServerProcess(directory)
    const resumed = collect(wire.subscribe(id, { after: generation ?? 0 }))
    await wire.send('this one', { taskId: id })
    const states = (await resumed).map(({ result }) => result?.statusUpdate?.status.state)
    expect(states.at(-1)).toBe('TASK_STATE_COMPLETED')
  })

  it('a turn that does not finish in time fails with a reason', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { drainDeadline: 300, turns: { cancelGrace: 300 } })
    const paused = await first.wire.sendTask('ask')
    const subscribed = first.wire.subscribe(paused.id)
    await firstOf(subscribed)
    const waiting = Promise.all([
      first.wire.sendTask('ignore'),
      first.wire.sendTask('hold forever'),
      collect(first.wire.sendStream('ignore')),
      collect(subscribed),
    ])
    await eventually(async () => (await turnsOf(directory)) === 4)
    first.signal('SIGTERM')

    const [ignoring, aborted, streamed, rest] = await waiting
    const reason = 'The server shut down before the agent had finished. Please send it again.'
    const failed = { state: 'TASK_STATE_FAILED', message: { parts: [{ text: reason }] } }
    expect(ignoring.status).toMatchObject(failed)
    expect(aborted.status).toMatchObject(failed)
    expect(streamed.at(-1)?.result?.statusUpdate?.status).toMatchObject(failed)
    expect(rest).toEqual([])
    expect(await first.ended).toBe(0)

    const { wire } = await startServerProcess(directory)
    expect(await wire.getTask(ignoring.id)).toEqual(ignoring)
  })

  it('a message that arrives during the shutdown leaves no unfinished task', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory)
    const send = () =>
      first.wire.sendTask('work').then(
        ({ status }) => status.state,
        (error: Error) => error.message,
      )
    const answers = Array.from({ length: 50 }, send)
    await Promise.race(answers)
    answers.push(...Array.from({ length: 50 }, send))
    first.signal('SIGTERM')
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatch(/^TASK_STATE_COMPLETED$|UNAVAILABLE|fetch failed/)
    }
    expect(await first.ended).toBe(0)
    expect(first.stderr()).toBe('')
    // The leases have not expired, so no process has cleaned up after the first one.
    const { wire } = await startServerProcess(directory)
    expect(await workingTasks(wire)).toBe(0)
  })

  it('a second SIGTERM ends the process at once, and the next process fails its tasks', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { turns: { leaseTtl: 1_000 } })
    const { id } = await first.wire.sendTask('hold forever', { configuration: { returnImmediately: true } })
    first.signal('SIGTERM')
    await eventually(() => isClosed(first))
    expect(await Promise.race([first.ended, pause(100, 'still draining')])).toBe('still draining')
    first.signal('SIGTERM')
    expect(await first.ended).toBe('SIGTERM')

    const { wire } = await startServerProcess(directory, { turns: { leaseTtl: 1_000 } })
    await eventually(async () => (await wire.getTask(id)).status.state === 'TASK_STATE_FAILED')
  })
})
