import { describe, expect, it } from 'vitest'
import { collect } from '../support/async.ts'
import { eventually, recordedTurns, startServerProcess } from '../support/processes/server-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import type { WireClient, WireEvent, WirePage } from '../support/wire/wire-client.ts'

/** Time after which a crashed process is detected, in milliseconds. */
const leaseTtl = 1_000

interface Reader {
  readonly seen: WireEvent[]
  /** Resolves when the connection breaks. */
  readonly broken: Promise<void>
}

/** Reads the stream of a counting task until the connection breaks. */
function readUntilBroken(wire: WireClient): Reader {
  const seen: WireEvent[] = []
  const read = async () => {
    for await (const event of wire.sendStream('count')) seen.push(event)
  }
  return { seen, broken: read().catch(() => {}) }
}

const taskIdOf = ({ seen }: Reader) => seen[0]?.result?.task?.id ?? ''

function numbersIn(events: readonly WireEvent[]): (string | undefined)[] {
  return events.flatMap(({ result }) => result?.artifactUpdate?.artifact.parts.map(({ text }) => text) ?? [])
}

const upTo = (length: number) => Array.from({ length }, (_, index) => `${index + 1}`)

describe('after kill -9 and a restart on the same directory', () => {
  it('every resumed reader sees every event once, up to the failure', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { turns: { leaseTtl } })
    const readers = Array.from({ length: 5 }, () => readUntilBroken(first.wire))
    await eventually(() => readers.every(({ seen }) => seen.length > 20))
    first.signal('SIGKILL')
    expect(await first.ended).toBe('SIGKILL')
    await Promise.all(readers.map(({ broken }) => broken))

    const { wire } = await startServerProcess(directory, { turns: { leaseTtl } })
    for (const reader of readers) {
      const { seen } = reader
      const id = taskIdOf(reader)
      const stored = await wire.getTask(id)
      // Everything that a reader has received was stored before.
      const text = stored.artifacts?.[0]?.parts.map(({ text }) => text).join('') ?? ''
      expect(text.startsWith(numbersIn(seen).join(''))).toBe(true)

      const all = [...seen, ...(await collect(wire.subscribe(id, { after: seen.at(-1)?.generation ?? 0 })))]
      expect(all.map(({ generation }) => generation)).toEqual(all.map((_, index) => index + 2))
      const numbers = numbersIn(all)
      expect(numbers).toEqual(upTo(numbers.length))
      const last = all.at(-1)?.result?.statusUpdate?.status
      expect(last?.state).toBe('TASK_STATE_FAILED')
      expect(last?.message?.parts[0]?.text).toContain('The process that worked on this task stopped')

      const task = await wire.getTask(id)
      expect(task.status).toEqual(last)
      expect(task.artifacts?.[0]?.parts).toEqual([{ text: numbers.join('') }])
    }
    const working: WirePage = await wire.result('ListTasks', { status: 'TASK_STATE_WORKING' })
    expect(working.totalSize).toBe(0)
  })

  it('ended tasks are unchanged, and paused tasks can continue', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { turns: { leaseTtl } })
    const ended = await first.wire.sendTask('work')
    const paused = await first.wire.sendTask('ask')
    first.signal('SIGKILL')
    await first.ended

    const { wire } = await startServerProcess(directory, { turns: { leaseTtl } })
    expect(await wire.getTask(ended.id)).toEqual(ended)
    expect(await wire.getTask(paused.id)).toEqual(paused)
    const answered = await wire.sendTask('this one', { taskId: paused.id })
    expect(answered.status.state).toBe('TASK_STATE_COMPLETED')
    expect(answered.history?.map(({ parts }) => parts[0]?.text)).toEqual(['ask', 'Which one?', 'this one'])
  })

  it('a repeated send with the same idempotency key returns the same result and runs nothing', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { turns: { leaseTtl } })
    const send = (wire: WireClient, text: string) =>
      wire.send(text, { messageId: text, contextId: 'c' }, { 'idempotency-key': text })
    const task = await send(first.wire, 'work')
    const message = await send(first.wire, 'say hello')
    const interrupted = send(first.wire, 'hold forever').catch(() => 'broken')
    await eventually(async () => (await recordedTurns(directory)).length === 3)
    first.signal('SIGKILL')
    await first.ended
    expect(await interrupted).toBe('broken')

    const { wire } = await startServerProcess(directory, { turns: { leaseTtl } })
    expect(await send(wire, 'work')).toEqual(task)
    expect(await send(wire, 'say hello')).toEqual(message)
    expect(await send(wire, 'hold forever')).toMatchObject({ task: { status: { state: 'TASK_STATE_FAILED' } } })
    expect((await recordedTurns(directory)).map(({ text }) => text)).toEqual(['work', 'say hello', 'hold forever'])
  })

  it('a stored message without a task is answered with the failure', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { turns: { leaseTtl } })
    const headers = { 'idempotency-key': 'k' }
    const mute = first.wire.send('mute', { messageId: 'm' }, headers).catch(() => 'broken')
    await eventually(async () => (await recordedTurns(directory)).length === 1)
    first.signal('SIGKILL')
    expect(await mute).toBe('broken')

    const { wire } = await startServerProcess(directory, { turns: { leaseTtl } })
    expect((await wire.sendTask('mute', { messageId: 'm' }, headers)).status.state).toBe('TASK_STATE_FAILED')
    expect(await recordedTurns(directory)).toHaveLength(1)
  })
})
