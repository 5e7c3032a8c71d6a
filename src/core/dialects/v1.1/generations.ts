import { withDeadline } from '../../base/abort.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import { A2AError } from '../../protocol/errors.ts'
import { type Interceptor, intercept } from '../../protocol/intercept.ts'
import type { Task } from '../../protocol/model.ts'
import type { Call, Service } from '../../protocol/service.ts'

/** Tasks whose agent was seen to count wrongly. */
const maxUncounted = 1_000

/** Milliseconds that a long poll may take, and that are left to the call after it. */
const longPoll = { longest: 45_000, spare: 15_000 }

/**
 * The service of an agent that counts the changes of its tasks. A gap in the numbers of a stream is a lost event: the
 * stream breaks, and is resumed from the task as it is. If an agent counts wrongly, its numbers for this task are removed,
 * and the order of the stream counts.
 */
export function withGenerations(service: Service): Service {
  const uncounted = new BoundedMap<string, true>(maxUncounted)
  const checked = (task: Task): Task => (uncounted.has(task.id) ? withoutRevision(task) : task)

  const interceptor: Interceptor = {
    async sendMessage(request, call, next) {
      const outcome = await next(request, call)
      return outcome.type === 'task' ? { ...outcome, task: checked(outcome.task) } : outcome
    },
    async getTask(request, call, next) {
      const { afterRevision, ...plain } = request
      const isHeld = afterRevision !== undefined && !uncounted.has(request.taskId)
      const get = (plainCall: Call) => next(plain, plainCall)
      return checked(await (isHeld ? waitForChange(call, (held) => next(request, held), get) : get(call)))
    },
    cancelTask: async (request, call, next) => checked(await next(request, call)),
    async *stream(_operation, request, call, next) {
      let last: number | undefined
      for await (const event of next(request, call)) {
        if (event.type === 'message') {
          yield event
          continue
        }
        const [taskId, { revision }] = event.type === 'task' ? [event.task.id, event.task] : [event.taskId, event]
        if (revision === undefined || (last !== undefined && revision <= last)) uncounted.set(taskId, true)
        if (uncounted.has(taskId)) {
          yield event.type === 'task' ? { ...event, task: withoutRevision(event.task) } : withoutRevision(event)
          continue
        }
        if (last !== undefined && revision !== undefined && revision > last + 1 && event.type !== 'task') {
          throw eventsLost(taskId, last, revision)
        }
        last = revision
        yield event
      }
    },
  }
  return intercept(service, [interceptor])
}

/** An agent may hold a long poll for longer than the caller waits. The task is then requested as it is. */
async function waitForChange<T>(
  call: Call,
  poll: (call: Call) => Promise<T>,
  get: (call: Call) => Promise<T>,
): Promise<T> {
  const left = (call.deadline ?? Number.POSITIVE_INFINITY) - Date.now()
  const limit = Math.min(longPoll.longest, Math.max(left - longPoll.spare, left / 2))
  const waiting = withDeadline(call.signal, limit, () => 'long poll')
  try {
    return await poll({ ...call, signal: waiting.signal })
  } catch (error) {
    if (call.signal.aborted || !waiting.signal.aborted) throw error
    return await get(call)
  } finally {
    waiting.release()
  }
}

function withoutRevision<T extends Pick<Task, 'revision'>>(counted: T): T {
  return { ...counted, revision: undefined }
}

function eventsLost(taskId: string, last: number, next: number): A2AError {
  const problem = `Task ${taskId} went from generation ${last} to ${next}: the events between them are requested again.`
  return new A2AError('unavailable', problem, { reason: 'events-lost' })
}
