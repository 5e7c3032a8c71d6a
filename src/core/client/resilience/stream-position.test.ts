import { describe, expect, it } from 'vitest'
import { describeEvent } from '../../../../test/contracts/service/contract.ts'
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

const take = (cursor: StreamCursor, ...events: readonly StreamEvent[]) =>
  events.flatMap((event) => cursor.take(event).map(describeEvent))

describe('createStreamCursor', () => {
  it('the position is that of the last event', () => {
    const { cursor, position } = open()
    expect(position.taskId).toBeUndefined()
    take(cursor, task(2), chunk(3, 'a'))
    expect(position).toMatchObject({ taskId: 't', generation: 3, emitted: 2 })
  })

  it('a resumed stream repeats no event', () => {
    const { cursor, gaps } = open()
    take(cursor, task(2), chunk(3, 'a'))
    cursor.reopen('next')
    expect(take(cursor, chunk(3, 'a'), chunk(4, 'b'), status(6, 'completed'))).toEqual([
      'artifact b, more',
      'status completed',
    ])
    expect(gaps()).toBe(0)
  })

  it('a snapshot instead of the next event becomes the difference to the task', () => {
    const { cursor, gaps } = open()
    take(cursor, task(2), chunk(3, 'a'))
    cursor.reopen('next')
    expect(take(cursor, task(5, 'working', ['a', 'b']), chunk(5, 'b'), chunk(6, 'c'))).toEqual([
      'artifact b, more',
      'artifact c, more',
    ])
    expect(gaps()).toBe(1)
  })

  it('a snapshot with the last number is no gap', () => {
    const { cursor, gaps } = open()
    take(cursor, task(2), chunk(3, 'a'))
    cursor.reopen('next')
    expect(take(cursor, task(3, 'working', ['a']))).toEqual([])
    expect(gaps()).toBe(0)
  })

  it('numbers that start anew with each stream are ignored', () => {
    for (const first of [1, 5]) {
      const { cursor, position, gaps } = open()
      take(cursor, task(first), chunk(first + 1, 'a'), chunk(first + 2, 'b'))
      cursor.reopen(position.generation === undefined ? 'snapshot' : 'next')
      expect(take(cursor, task(1, 'working', ['a', 'b']), chunk(2, 'c'), chunk(3, 'd'))).toEqual([
        'artifact c, more',
        'artifact d, more',
      ])
      expect(gaps()).toBe(1)
    }
  })

  it('an event that is out of order is rejected', () => {
    const { cursor } = open()
    take(cursor, task(2), chunk(5, 'b'))
    expect(() => cursor.take(chunk(4, 'a'))).toThrow('Event 4 came after event 5.')
  })

  it('the memory for numbers is bounded', () => {
    const { cursor } = open()
    for (let n = 2; n < 5_000; n++) cursor.take(chunk(n, 'x'))
    expect(cursor.take(chunk(10, 'x'))).toEqual([])
  })
})

describe('isSettled', () => {
  it.each([
    ['working', false, false],
    ['completed', true, true],
    ['input-required', true, true],
    ['auth-required', true, false],
  ] as const)('a stream that ends at %s is complete: %s; if it broke: %s', (state, ifEnded, ifBroken) => {
    const { cursor, position } = open()
    take(cursor, task(2), status(3, state))
    expect([isSettled(position, false), isSettled(position, true)]).toEqual([ifEnded, ifBroken])
  })

  it('a stream that breaks at the input-required it started with is not complete', () => {
    const { cursor, position } = open()
    take(cursor, task(2, 'input-required'))
    expect([isSettled(position, false), isSettled(position, true)]).toEqual([true, false])
  })
})

describe('an agent that marks the numbers it leaves out', () => {
  const following = (event: StreamEvent, follows: number): StreamEvent => ({ ...event, follows })

  it('a gap in the numbers is an error that makes the client request the events again', () => {
    const { cursor } = open()
    take(cursor, following(task(2), 0), chunk(3, 'a'))
    expect(() => cursor.take(chunk(5, 'c'))).toThrow('Event 5 came after event 3')
    cursor.reopen('next')
    expect(take(cursor, following(chunk(4, 'b'), 3), chunk(5, 'c'))).toEqual(['artifact b, more', 'artifact c, more'])
  })

  it('a marked gap is no loss', () => {
    const { cursor } = open()
    expect(take(cursor, following(task(2), 0), chunk(3, 'a'), following(chunk(7, 'b'), 3))).toHaveLength(3)
  })

  it('a gap of an agent that marks none is no loss', () => {
    const { cursor } = open()
    expect(take(cursor, task(2), chunk(10, 'a'), chunk(20, 'b'))).toHaveLength(3)
  })
})
