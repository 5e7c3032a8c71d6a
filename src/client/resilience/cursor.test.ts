import { describe, expect, it } from 'vitest'
import { describeEvent } from '../../../test/contracts/service/contract.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { TaskState } from '../../protocol/model.ts'
import { createPosition, createStreamCursor, isSettled, type StreamCursor } from './stream-position.ts'

const timestamp = '2026-05-01T08:00:00.000Z'
const task = (generation: number, state: TaskState = 'working', texts: readonly string[] = []): StreamEvent => ({
  type: 'task',
  task: {
    id: 't',
    contextId: 'c',
    status: { state, timestamp },
    artifacts: texts.length === 0 ? [] : [{ artifactId: 'a', parts: texts.map((text) => ({ text })) }],
    history: [],
    generation,
  },
})
const chunk = (generation: number, text: string): StreamEvent => ({
  type: 'artifact',
  artifact: { artifactId: 'a', parts: [{ text }] },
  append: true,
  taskId: 't',
  contextId: 'c',
  generation,
})
const status = (generation: number, state: TaskState): StreamEvent => ({
  type: 'status',
  status: { state, timestamp },
  taskId: 't',
  contextId: 'c',
  generation,
})

function open() {
  let gaps = 0
  const position = createPosition()
  const cursor = createStreamCursor(position, () => gaps++)
  return { cursor, position, gaps: () => gaps }
}

const tell = (cursor: StreamCursor, ...events: readonly StreamEvent[]) =>
  events.flatMap((event) => cursor.take(event).map(describeEvent))

describe('a reader', () => {
  it('is where its last event was', () => {
    const { cursor, position } = open()
    expect(position.taskId).toBeUndefined()
    tell(cursor, task(2), chunk(3, 'a'))
    expect(position).toMatchObject({ taskId: 't', generation: 3, emitted: 2 })
  })

  it('goes on with the next event, and is told none again', () => {
    const { cursor, gaps } = open()
    tell(cursor, task(2), chunk(3, 'a'))
    cursor.reopen('next')
    expect(tell(cursor, chunk(3, 'a'), chunk(4, 'b'), status(6, 'completed'))).toEqual([
      'artifact b, more',
      'status completed',
    ])
    expect(gaps()).toBe(0)
  })

  it('is told the difference where the task comes instead of the next event', () => {
    const { cursor, gaps } = open()
    tell(cursor, task(2), chunk(3, 'a'))
    cursor.reopen('next')
    expect(tell(cursor, task(5, 'working', ['a', 'b']), chunk(5, 'b'), chunk(6, 'c'))).toEqual([
      'artifact b, more',
      'artifact c, more',
    ])
    expect(gaps()).toBe(1)
  })

  it('has missed nothing if the task is where it was', () => {
    const { cursor, gaps } = open()
    tell(cursor, task(2), chunk(3, 'a'))
    cursor.reopen('next')
    expect(tell(cursor, task(3, 'working', ['a']))).toEqual([])
    expect(gaps()).toBe(0)
  })

  it('does not rely on numbers that each stream begins anew', () => {
    for (const first of [1, 5]) {
      const { cursor, position, gaps } = open()
      tell(cursor, task(first), chunk(first + 1, 'a'), chunk(first + 2, 'b'))
      cursor.reopen(position.generation === undefined ? 'snapshot' : 'next')
      expect(tell(cursor, task(1, 'working', ['a', 'b']), chunk(2, 'c'), chunk(3, 'd'))).toEqual([
        'artifact c, more',
        'artifact d, more',
      ])
      expect(gaps()).toBe(1)
    }
  })

  it('refuses disorder', () => {
    const { cursor } = open()
    tell(cursor, task(2), chunk(5, 'b'))
    expect(() => cursor.take(chunk(4, 'a'))).toThrow('Event 4 came after event 5.')
  })

  it('remembers only so much, however long a stream is', () => {
    const { cursor } = open()
    for (let n = 2; n < 5_000; n++) cursor.take(chunk(n, 'x'))
    expect(cursor.take(chunk(10, 'x'))).toEqual([])
  })
})

describe('a stream that ends', () => {
  it.each([
    ['working', false, false],
    ['completed', true, true],
    ['input-required', true, true],
    ['auth-required', true, false],
  ] as const)('at %s has said all: %s; if it broke: %s', (state, ended, broke) => {
    const { cursor, position } = open()
    tell(cursor, task(2), status(3, state))
    expect([isSettled(position, false), isSettled(position, true)]).toEqual([ended, broke])
  })

  it('may break while the task waits, as it did when the stream began', () => {
    const { cursor, position } = open()
    tell(cursor, task(2, 'input-required'))
    expect([isSettled(position, false), isSettled(position, true)]).toEqual([true, false])
  })
})

describe('of an agent that says where numbers are left out', () => {
  const counted = (event: StreamEvent, follows: number): StreamEvent => ({ ...event, follows })

  it('a reader asks again for what was lost or came in another order', () => {
    const { cursor } = open()
    tell(cursor, counted(task(2), 0), chunk(3, 'a'))
    expect(() => cursor.take(chunk(5, 'c'))).toThrow('Event 5 came after event 3')
    cursor.reopen('next')
    expect(tell(cursor, counted(chunk(4, 'b'), 3), chunk(5, 'c'))).toEqual(['artifact b, more', 'artifact c, more'])
  })

  it('a reader misses nothing that is not to be told', () => {
    const { cursor } = open()
    expect(tell(cursor, counted(task(2), 0), chunk(3, 'a'), counted(chunk(7, 'b'), 3))).toHaveLength(3)
  })

  it('a reader believes numbers of agents that do not', () => {
    const { cursor } = open()
    expect(tell(cursor, task(2), chunk(10, 'a'), chunk(20, 'b'))).toHaveLength(3)
  })
})
