import { describe, expect, it } from 'vitest'
import { callOf, messageOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect } from '../../../../test/support/async.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { createService } from '../../protocol/intercept.ts'
import type { Task } from '../../protocol/model.ts'
import type { GetTaskRequest } from '../../protocol/service.ts'
import { withGenerations } from './generations.ts'

const ids = { taskId: 't', contextId: 'c', generation: 0 }
const task: Task = { id: 't', contextId: 'c', status: { state: 'working' }, artifacts: [], history: [], generation: 0 }

const taskAt = (revision?: number): StreamEvent => ({ type: 'task', task: { ...task, revision } })
const statusAt = (revision?: number): StreamEvent => ({
  type: 'status',
  ...ids,
  status: { state: 'working' },
  revision,
})

/** The service of an agent that sends these events, and answers every get with this revision. */
function serviceWith(
  events: readonly StreamEvent[],
  revision?: number,
  onGet?: (request: GetTaskRequest, signal: AbortSignal) => Promise<void>,
) {
  return withGenerations(
    createService({
      async unary(operation, request, { signal }) {
        if (operation === 'getTask') await onGet?.(request as GetTaskRequest, signal)
        return { ...task, revision } as never
      },
      async *stream() {
        yield* events
      },
    }),
  )
}

const revisionsOf = (events: readonly StreamEvent[]) =>
  events.map((event) =>
    event.type === 'task' ? event.task.revision : event.type === 'message' ? 'message' : event.revision,
  )

const read = (events: readonly StreamEvent[]) =>
  collect(serviceWith(events).streamMessage({ message: messageOf('x') }, callOf()))

describe('the numbers of a stream', () => {
  it('events without a gap are passed on', async () => {
    expect(revisionsOf(await read([taskAt(4), statusAt(5), statusAt(6)]))).toEqual([4, 5, 6])
    expect(revisionsOf(await read([statusAt(9), statusAt(10)]))).toEqual([9, 10])
  })

  it('a gap is a lost event: the stream breaks, so that the client gets the task again', async () => {
    const seen: StreamEvent[] = []
    const stream = serviceWith([taskAt(1), statusAt(2), statusAt(4)]).streamMessage(
      { message: messageOf('x') },
      callOf(),
    )
    const reading = (async () => {
      for await (const event of stream) seen.push(event)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'unavailable', reason: 'events-lost' })
    expect(revisionsOf(seen)).toEqual([1, 2])
  })

  it('a task may skip numbers: it has everything up to its own', async () => {
    expect(revisionsOf(await read([statusAt(2), taskAt(7), statusAt(8)]))).toEqual([2, 7, 8])
  })

  it.each([
    ['none', [taskAt(), statusAt()], [undefined, undefined]],
    ['the same number twice', [taskAt(1), statusAt(1), statusAt(5)], [1, undefined, undefined]],
    ['a smaller number', [taskAt(3), statusAt(2), statusAt(9)], [3, undefined, undefined]],
  ])('the numbers of an agent that counts wrongly are not used: %s', async (_, events, revisions) => {
    expect(revisionsOf(await read(events))).toEqual(revisions)
  })
})

it('an agent that counted wrongly is not trusted again for this task, and gets no long poll', async () => {
  const requests: GetTaskRequest[] = []
  const service = serviceWith([taskAt(1), statusAt(1)], 5, async (request) => void requests.push(request))
  expect((await service.getTask({ taskId: 't', afterRevision: 4 }, callOf())).revision).toBe(5)
  await collect(service.subscribeToTask({ taskId: 't' }, callOf()))
  expect((await service.getTask({ taskId: 't', afterRevision: 4 }, callOf())).revision).toBeUndefined()
  expect(requests.map(({ afterRevision }) => afterRevision)).toEqual([4, undefined])
})

it('a long poll that lasts longer than its caller can wait is followed by a plain get', async () => {
  const requests: GetTaskRequest[] = []
  const service = serviceWith([], 5, async (request, signal) => {
    requests.push(request)
    if (request.afterRevision === undefined) return
    await new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
  })
  const polled = service.getTask({ taskId: 't', afterRevision: 5 }, callOf({ deadline: Date.now() + 50 }))
  expect((await polled).revision).toBe(5)
  expect(requests.map(({ afterRevision }) => afterRevision)).toEqual([5, undefined])
})
