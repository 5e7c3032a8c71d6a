import { describe, expect, it } from 'vitest'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task, TaskState } from '../../protocol/model.ts'
import { fromTask } from './missed-events.ts'

const ref = { taskId: 't', contextId: 'c', generation: 0 }

const taskOf = (state: TaskState, text: string, chunks: readonly string[] = []): Task => ({
  id: 't',
  contextId: 'c',
  generation: 0,
  status: statusOf(state, text),
  artifacts: chunks.length === 0 ? [] : [artifactOf(chunks)],
  history: [],
})
const statusOf = (state: TaskState, text: string) => ({
  state,
  message: { messageId: text, role: 'agent' as const, parts: [{ text }] },
})
const artifactOf = (chunks: readonly string[]) => ({ artifactId: 'a', parts: chunks.map((text) => ({ text })) })
const status = (state: TaskState, text: string, isLast = false): StreamEvent => ({
  type: 'status',
  ...ref,
  status: statusOf(state, text),
  isLast,
})
const chunk = (...chunks: readonly string[]): StreamEvent => ({
  type: 'artifact',
  ...ref,
  append: true,
  artifact: artifactOf(chunks),
})

/** What the reader gets of a task that was `before`, and is `current` when the subscription is open. */
async function read(before: Task, current: Task, ...events: readonly StreamEvent[]): Promise<readonly string[]> {
  async function* subscription() {
    yield* events
  }
  const lines: string[] = []
  for await (const event of fromTask(before, subscription(), async () => current)) lines.push(lineOf(event))
  return lines
}

function lineOf(event: StreamEvent): string {
  switch (event.type) {
    case 'message':
      return 'message'
    case 'artifact':
      return event.artifact.parts.map((part) => ('text' in part ? part.text : '')).join('')
    case 'task':
      return `task ${event.task.status.state}`
    case 'status':
      return `${event.status.state} ${event.status.message?.messageId}`
  }
}

describe('a subscription that has only what follows', () => {
  const before = taskOf('working', 'one', ['a'])

  it('changes between the task and the subscription are emitted once', async () => {
    const current = taskOf('working', 'two', ['a', 'b', 'c'])
    const lines = await read(before, current, chunk('c'), chunk('d'), status('completed', 'done', true))
    expect(lines).toEqual(['task working', 'bc', 'working two', 'd', 'completed done'])
  })

  it('events that the task includes already are not repeated', async () => {
    const current = taskOf('working', 'two', ['a', 'b', 'c', 'd'])
    const lines = await read(before, current, chunk('b'), chunk('c'), status('working', 'two'), chunk('d', 'e'))
    expect(lines).toEqual(['task working', 'bcd', 'working two', 'e'])
  })

  it('a first status that is no longer the current one is emitted before it', async () => {
    const current = taskOf('working', 'three', ['a'])
    const lines = await read(before, current, status('working', 'two'), status('working', 'three'), chunk('b'))
    expect(lines).toEqual(['task working', 'working two', 'working three', 'b'])
  })

  it('a task that has ended meanwhile ends the stream', async () => {
    const current = taskOf('completed', 'done', ['a', 'b'])
    const lines = await read(before, current, chunk('b'), status('completed', 'done', true))
    expect(lines).toEqual(['task working', 'b', 'completed done'])
  })

  it('nothing is added if nothing was missed', async () => {
    const lines = await read(before, taskOf('working', 'one', ['a', 'b']), chunk('b'), chunk('c'))
    expect(lines).toEqual(['task working', 'b', 'c'])
  })
})

describe('a subscription that begins with the task', () => {
  const readFrom = async (first: Task, ...events: readonly StreamEvent[]) => {
    async function* subscription(): AsyncGenerator<StreamEvent> {
      yield* [{ type: 'task', task: first, isLast: first.status.state === 'completed' } as const, ...events]
    }
    const fail = () => Promise.reject(new Error('not needed'))
    const lines: string[] = []
    for await (const event of fromTask(taskOf('working', 'one'), subscription(), fail)) lines.push(lineOf(event))
    return lines
  }

  it('the task is not repeated, and the events are left as they are', async () => {
    expect(await readFrom(taskOf('working', 'one'), chunk('b'), chunk('b'))).toEqual(['task working', 'b', 'b'])
  })

  it('the task shows what has happened since it was read', async () => {
    const lines = await readFrom(taskOf('working', 'two', ['a']), chunk('b'))
    expect(lines).toEqual(['task working', 'a', 'working two', 'b'])
    expect(await readFrom(taskOf('completed', 'done'))).toEqual(['task working', 'completed done'])
  })
})

it('the task is emitted before the subscription sends anything', async () => {
  async function* silent(): AsyncGenerator<StreamEvent> {
    await new Promise(() => {})
  }
  const task = taskOf('working', 'one')
  const { value } = await fromTask(task, silent(), async () => task).next()
  expect(value).toEqual({ type: 'task', task, isLast: false })
})

it('a subscription is closed when its reader leaves at an event', async () => {
  let isClosed = false
  async function* subscription(): AsyncGenerator<StreamEvent> {
    try {
      yield chunk('a')
      yield chunk('b')
    } finally {
      isClosed = true
    }
  }
  const task = taskOf('working', 'one')
  for await (const event of fromTask(task, subscription(), async () => task)) if (event.type === 'artifact') break
  expect(isClosed).toBe(true)
})
