import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { anonymous, type Message, type Role, type TaskState, textOf } from '../protocol/model.ts'
import { advanceHead, createFold, type Fold, initialHead, keepSnapshot, loadFold } from './fold.ts'
import type { TaskLog } from './log.ts'
import { createMemoryLog } from './memory-log.ts'

const task = { taskId: 't', contextId: 'c', owner: 'alice' }

const timestamp = '2026-01-01T00:00:00.000Z'

function folded(events: readonly TaskEvent[]): Fold {
  return apply(createFold(task), events)
}

function apply(fold: Fold, events: readonly TaskEvent[]): Fold {
  for (const event of events) fold.apply({ generation: fold.generation + 1, event } satisfies StoredEvent)
  return fold
}

function message(text: string, role: Role = 'user'): Message {
  return { messageId: text, role, parts: [{ text }] }
}

function received(text: string): TaskEvent {
  return { type: 'message', message: message(text), principal: anonymous }
}

function status(state: TaskState, text?: string): TaskEvent {
  const said = text === undefined ? {} : { message: message(text, 'agent') }
  return { type: 'status', status: { state, timestamp, ...said } }
}

function chunk(artifactId: string, text: string, flags: { append?: boolean; lastChunk?: boolean } = { append: true }) {
  return { type: 'artifact' as const, artifact: { artifactId, parts: [{ text }] }, ...flags }
}

function textsOf(messages: readonly Message[] | undefined): readonly string[] | undefined {
  return messages?.map(({ messageId }) => messageId)
}

describe('the history of a fold', () => {
  test('an exchange is not a task before it has a status', () => {
    const fold = folded([received('hello')])
    expect(fold.task()).toBeUndefined()
    expect(textsOf(fold.messages())).toEqual(['hello'])
  })

  test('a reply is a message and creates no task', () => {
    const fold = folded([received('hello'), { type: 'reply', message: message('hi', 'agent') }])
    expect(fold.task()).toBeUndefined()
    expect(textsOf(fold.messages())).toEqual(['hello', 'hi'])
  })

  test('the message of the current status is not in the history', () => {
    const task = folded([received('hello'), status('input-required', 'which?')]).task()
    expect(textsOf(task?.history)).toEqual(['hello'])
    expect(task?.status.message).toEqual(message('which?', 'agent'))
  })

  test('a status message enters the history when another status replaces it', () => {
    const task = folded([received('hello'), status('working', 'reading'), status('working')]).task()
    expect(textsOf(task?.history)).toEqual(['hello', 'reading'])
    expect(task?.status).toEqual({ state: 'working', timestamp })
  })

  test('a status message enters the history before the message that answers it', () => {
    const task = folded([received('hello'), status('input-required', 'which?'), received('this one')]).task()
    expect(textsOf(task?.history)).toEqual(['hello', 'which?', 'this one'])
    expect(task?.status).toEqual({ state: 'input-required', timestamp })
  })

  test('a status keeps its dialect data when its message enters the history', () => {
    const carry = { 'v0.3': { state: 'unknown' } }
    const asked: TaskEvent = {
      type: 'status',
      status: { state: 'working', timestamp, message: message('?', 'agent'), carry },
    }
    expect(folded([received('hello'), asked, received('this one')]).task()?.status).toEqual({
      state: 'working',
      timestamp,
      carry,
    })
  })

  test('every message is in the history once, oldest first', () => {
    const fold = folded([
      received('1'),
      status('working', '2'),
      status('input-required', '3'),
      received('4'),
      received('5'),
      status('working'),
      status('completed', '6'),
    ])
    expect(textsOf(fold.task()?.history)).toEqual(['1', '2', '3', '4', '5'])
    expect(fold.task()?.status.message).toEqual(message('6', 'agent'))
  })
})

describe('the artifacts of a fold', () => {
  test('chunks are added to their artifact', () => {
    const task = folded([status('working'), chunk('a', 'one', {}), chunk('b', 'x', {}), chunk('a', 'two')]).task()
    expect(task?.artifacts).toEqual([
      { artifactId: 'a', parts: [{ text: 'onetwo' }] },
      { artifactId: 'b', parts: [{ text: 'x' }] },
    ])
  })

  test('an artifact event without append replaces the artifact', () => {
    const task = folded([status('working'), chunk('a', 'draft', {}), chunk('a', 'final', {})]).task()
    expect(task?.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'final' }] }])
  })

  test('the empty last chunk of an artifact adds no content', () => {
    const closing = { append: true, lastChunk: true }
    const task = folded([status('working'), chunk('a', 'one', {}), chunk('a', '', closing)]).task()
    expect(task?.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'one' }] }])
  })

  test('an empty text in another chunk adds nothing to a text', () => {
    const task = folded([status('working'), chunk('a', 'one', {}), chunk('a', '')]).task()
    expect(task?.artifacts[0]?.parts).toEqual([{ text: 'one' }])
  })

  test('a task that was read earlier does not change with later events', () => {
    const fold = folded([status('working'), chunk('a', 'one', {})])
    const [task, snapshot] = [fold.task(), fold.snapshot()]
    const [before, kept] = [JSON.stringify(task), JSON.stringify(snapshot)]
    apply(fold, [chunk('a', 'two'), received('more'), status('completed')])
    expect(JSON.stringify(task)).toBe(before)
    expect(JSON.stringify(snapshot)).toBe(kept)
  })
})

test('a snapshot and the events after it give the same task as all events', () => {
  const event = fc.oneof<fc.Arbitrary<TaskEvent>[]>(
    fc.string().map(received),
    fc.constant({ type: 'cancel' }),
    fc
      .tuple(fc.constantFrom<TaskState>('working', 'input-required', 'completed'), fc.option(fc.string()))
      .map(([state, text]) => status(state, text ?? undefined)),
    fc
      .tuple(fc.constantFrom('a', 'b'), fc.constantFrom('', 'x'), fc.boolean(), fc.boolean())
      .map(([id, text, append, lastChunk]) => chunk(id, text, { append, lastChunk })),
  )
  const property = fc.property(fc.array(event, { maxLength: 20 }), fc.nat(20), (events, cut) => {
    const whole = folded(events)
    const kept = JSON.parse(JSON.stringify(folded(events.slice(0, cut)).snapshot()))
    const resumed = apply(createFold(task, kept), events.slice(cut))
    expect(resumed.generation).toBe(events.length)
    expect(resumed.task()).toEqual(whole.task())
    expect(resumed.messages()).toEqual(whole.messages())
    expect(resumed.snapshot()).toEqual(whole.snapshot())
  })
  fc.assert(property)
})

describe('loadFold', () => {
  const task = { taskId: 't', contextId: 'c', owner: 'alice' }

  async function createLog(chunks: number): Promise<TaskLog> {
    const log = createMemoryLog()
    await log.create(task, [{ type: 'status', status: { state: 'working', timestamp: new Date().toISOString() } }], {
      lease: { holder: 'test', ttl: 60_000 },
    })
    await append(log, 1, chunks)
    return log
  }

  async function append(log: TaskLog, after: number, chunks: number): Promise<void> {
    const chunk: TaskEvent = { type: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'x' }] }, append: true }
    await log.append(
      't',
      after,
      Array.from({ length: chunks }, () => chunk),
      { fence: 1 },
    )
  }

  /** Counts the events that are read from a log. */
  function counting(log: TaskLog): { readonly log: TaskLog; readonly read: () => number } {
    let events = 0
    const watched: TaskLog = {
      ...log,
      async read(taskId, after) {
        const page = await log.read(taskId, after)
        events += page.length
        return page
      },
    }
    return { log: watched, read: () => events }
  }

  test('few long tasks are folded at once, and readers beyond those that may wait are refused', async () => {
    const log = await createLog(400)
    const settled = await Promise.allSettled(Array.from({ length: 30 }, () => loadFold(log, task, 8)))
    const failures = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(failures.length).toBeGreaterThan(0)
    expect(failures.length).toBeLessThanOrEqual(18)
    expect(failures[0]).toMatchObject({ code: 'unavailable', retryAfter: 1 })
    expect((await loadFold(log, task, 0)).generation).toBe(401)
  })

  test('a short task is folded from its events without a snapshot', async () => {
    const log = await createLog(100)
    expect((await loadFold(log, task)).generation).toBe(101)
    expect(await log.snapshot('t')).toBeUndefined()
  })

  test('folding a long task stores a snapshot for the next reader', async () => {
    const { log, read } = counting(await createLog(2_000))
    const first = await loadFold(log, task)
    expect(read()).toBe(2_001)
    await append(log, 2_001, 10)
    const second = await loadFold(log, task)
    expect(read()).toBe(2_001 + 10)
    expect(second.generation).toBe(2_011)
    const [before, after] = [first, second].map((fold) => textOf(fold.task()?.artifacts[0] ?? { parts: [] }))
    expect(after?.slice(0, before?.length)).toBe(before)
    expect(after?.length).toBeGreaterThan(before?.length ?? 0)
  })

  test('folding a task that has ended stores a snapshot for all later readers', async () => {
    const { log, read } = counting(await createLog(2_000))
    await loadFold(log, task)
    await append(log, 2_001, 1_000)
    await log.append('t', 3_001, [{ type: 'status', status: { state: 'completed', timestamp: '' } }], { fence: 1 })
    await loadFold(log, task)
    const before = read()
    expect((await loadFold(log, task)).generation).toBe(3_002)
    expect(read()).toBe(before)
  })

  test('a snapshot that cannot be stored does not fail the reader', async () => {
    const log = await createLog(2_000)
    const failing: TaskLog = { ...log, keepSnapshot: () => Promise.reject(new Error('the disk is full')) }
    expect((await loadFold(failing, task)).generation).toBe(2_001)
  })

  test('every 512 events of a task that does not grow are folded once', async () => {
    const { log, read } = counting(await createLog(1))
    const update = status('working')
    for (let generation = 2; generation < 5_000; generation += 50) {
      await log.append(
        't',
        generation,
        Array.from({ length: 50 }, () => update),
        { fence: 1 },
      )
    }
    await loadFold(log, task)
    const first = read()
    expect(first).toBeGreaterThan(5_000)
    for (let generation = 5_002; generation < 6_000; generation += 50) {
      await log.append(
        't',
        generation,
        Array.from({ length: 50 }, () => update),
        { fence: 1 },
      )
      await loadFold(log, task)
    }
    // 20 readers fold at most 512 events each that earlier readers have folded.
    expect(read() - first).toBeLessThan(20 * 512)
    expect((await log.snapshot('t'))?.generation).toBeGreaterThan(5_500)
  })

  test('the cost of snapshots per event is constant', async () => {
    const log = await createLog(1)
    let kept = 0
    const watched: TaskLog = {
      ...log,
      async keepSnapshot(snapshot) {
        kept += JSON.stringify(snapshot.artifacts).length
        await log.keepSnapshot(snapshot)
      },
    }
    for (let generation = 2; generation < 20_000; generation += 100) {
      await append(watched, generation, 100)
      await loadFold(watched, task)
    }
    // Less than the events themselves, of at least 100 characters each.
    expect(kept).toBeLessThan(100 * 20_000)
  })
})

describe('the head of a task', () => {
  const message = { messageId: 'm', role: 'agent' as const, parts: [{ text: 'which?' }] }

  const received: TaskEvent = { type: 'message', message: { ...message, role: 'user' }, principal: anonymous }

  const artifact: TaskEvent = { type: 'artifact', artifact: { artifactId: 'a', parts: [] } }

  function status(state: TaskState, milliseconds: number): TaskEvent {
    return { type: 'status', status: { state, timestamp: at(milliseconds) } }
  }

  function at(milliseconds: number): string {
    return new Date(milliseconds).toISOString()
  }

  test('a new exchange is received and has no status', () => {
    expect(advanceHead(initialHead(7), [received])).toEqual({
      generation: 1,
      phase: 'received',
      status: undefined,
      changed: 7,
    })
  })

  test('the last status of a batch sets the phase and the time of the change', () => {
    const head = advanceHead(initialHead(7), [received, status('working', 1_000), artifact, status('completed', 2_000)])
    expect(head).toEqual({
      generation: 4,
      phase: 'completed',
      status: { state: 'completed', timestamp: new Date(2_000).toISOString() },
      changed: 2_000,
    })
  })

  test('artifacts and cancellations change only the generation', () => {
    const head = advanceHead(initialHead(7), [received, status('working', 1_000)])
    expect(advanceHead(head, [artifact, { type: 'cancel' }, artifact])).toEqual({ ...head, generation: 5 })
  })

  test('a reply ends the exchange without a status', () => {
    const before = Date.now()
    const head = advanceHead(initialHead(7), [received, { type: 'reply', message }])
    expect(head).toMatchObject({ generation: 2, phase: 'answered', status: undefined })
    expect(head.changed).toBeGreaterThanOrEqual(before)
  })

  test('a message removes the message of the status that it answers', () => {
    const rest = { state: 'input-required', timestamp: at(1_000), carry: { 'v0.3': { k: 1 } } } as const
    const question: TaskEvent = { type: 'status', status: { ...rest, message } }
    const head = advanceHead(initialHead(7), [received, question])
    expect(head.status?.message).toEqual(message)
    expect(advanceHead(head, [received])).toEqual({
      generation: 3,
      phase: 'input-required',
      status: rest,
      changed: 1_000,
    })
  })
})

describe('the snapshot of a growing task', () => {
  const task = { taskId: 't', contextId: 'c', owner: 'o' }

  async function logOf(chunks: number, length: number): Promise<TaskLog> {
    const log = createMemoryLog()
    await log.create(task, [received('go')], { lease: { holder: 'test', ttl: 60_000 } })
    for (let at = 0; at < chunks; at++) await log.append('t', at + 1, [chunk('a', 'x'.repeat(length))], { fence: 1 })
    return log
  }

  test('the snapshot of a growing task is stored if the task is short, and left to the first reader if it is long', async () => {
    const short = await logOf(20, 100)
    await keepSnapshot(short, task)
    expect(await short.snapshot('t')).toMatchObject({ generation: 21 })
    const long = await logOf(30, 100_000)
    await keepSnapshot(long, task)
    expect(await long.snapshot('t')).toBeUndefined()
  })
})
