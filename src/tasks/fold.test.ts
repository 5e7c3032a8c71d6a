import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { anonymous, type Message, type Role, type TaskState } from '../protocol/model.ts'
import { createFold, type Fold } from './fold.ts'

const task = { taskId: 't', contextId: 'c', owner: 'alice' }
const timestamp = '2026-01-01T00:00:00.000Z'

describe('history', () => {
  test('an exchange is no task before it has a status', () => {
    const fold = folded([received('hello')])
    expect(fold.task()).toBeUndefined()
    expect(textsOf(fold.messages())).toEqual(['hello'])
  })

  test('a reply is among the messages and makes no task', () => {
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

  test('a status keeps what a dialect needs to remember of it when its message enters the history', () => {
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

describe('artifacts', () => {
  test('chunks are added to their artifact', () => {
    const task = folded([status('working'), chunk('a', 'one', {}), chunk('b', 'x', {}), chunk('a', 'two')]).task()
    expect(task?.artifacts).toEqual([
      { artifactId: 'a', parts: [{ text: 'one' }, { text: 'two' }] },
      { artifactId: 'b', parts: [{ text: 'x' }] },
    ])
  })

  test('an artifact that is not appended to is replaced', () => {
    const task = folded([status('working'), chunk('a', 'draft', {}), chunk('a', 'final', {})]).task()
    expect(task?.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'final' }] }])
  })

  test('the empty chunk that closes an artifact is no content', () => {
    const closing = { append: true, lastChunk: true }
    const task = folded([status('working'), chunk('a', 'one', {}), chunk('a', '', closing)]).task()
    expect(task?.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'one' }] }])
  })

  test('an empty text that closes nothing is content', () => {
    const task = folded([status('working'), chunk('a', 'one', {}), chunk('a', '')]).task()
    expect(task?.artifacts[0]?.parts).toEqual([{ text: 'one' }, { text: '' }])
  })

  test('what was folded before does not change with what comes later', () => {
    const fold = folded([status('working'), chunk('a', 'one', {})])
    const [task, snapshot] = [fold.task(), fold.snapshot()]
    const [before, kept] = [JSON.stringify(task), JSON.stringify(snapshot)]
    apply(fold, [chunk('a', 'two'), received('more'), status('completed')])
    expect(JSON.stringify(task)).toBe(before)
    expect(JSON.stringify(snapshot)).toBe(kept)
  })
})

test('a snapshot and the rest give the same task as all events from the start', () => {
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
