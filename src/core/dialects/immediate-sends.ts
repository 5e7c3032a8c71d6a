import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { type Interceptor, intercept, type UnaryNext } from '../protocol/intercept.ts'
import type { Call, Outcome, SendRequest, Service } from '../protocol/service.ts'
import type { FollowedAgent } from './dialect.ts'

/** Streams that are read in the background. Beyond this number, a send waits as long as the agent makes it wait. */
const maxStreams = 100

/** The agents of a dialect that wait for the task in every send, and what they do with a task whose stream is left. */
export interface WaitingAgents {
  /** Their software, as the `Server` header names it. By default, all agents. */
  readonly software?: RegExp
  /** Whether a task is canceled if its stream is left, so that the stream must be read to its end. */
  readonly cancelsOnLeave: boolean
}

/** The service of such an agent: a send that returns immediately opens a stream, and returns with its first event. */
export function withImmediateSends(
  service: Service,
  { software, cancelsOnLeave }: WaitingAgents,
  { headers, mayStream, follow }: FollowedAgent,
): Service {
  const isAffected = software?.test(headers?.get('server') ?? '') ?? true
  if (!mayStream || !isAffected) return intercept(service, [explainWaiting])
  const cancelListeners = new Set<(taskId: string) => void>()
  let streams = 0

  async function readOn(events: AsyncGenerator<StreamEvent>): Promise<void> {
    streams++
    try {
      for await (const event of events) if (event.isLast) return
    } catch {
      // The caller has the id of the task, and notices itself if the agent is unreachable.
    } finally {
      streams--
    }
  }

  async function sendByStream(request: SendRequest, call: Call, next: UnaryNext<'sendMessage'>): Promise<Outcome> {
    const open = (signal: AbortSignal) => service.streamMessage(request, { ...call, signal })
    const position: { taskId?: string } = {}
    const events = follow(open, { service, call, position, cancelListeners })
    let first: IteratorResult<StreamEvent, void>
    try {
      first = await events.next()
    } catch (error) {
      if (error instanceof A2AError && refusals.has(error.code)) return await next(request, call)
      throw error
    }
    if (first.done) throw new A2AError('invalid-agent-response', 'The agent ended a stream without any event.')
    const event = first.value
    if (event.type === 'message') {
      await events.return(undefined)
      return event
    }
    const taskId = event.type === 'task' ? event.task.id : event.taskId
    position.taskId = taskId
    if (cancelsOnLeave) void readOn(events)
    else await events.return(undefined)
    return { type: 'task', task: event.type === 'task' ? event.task : await service.getTask({ taskId }, call) }
  }

  const interceptor: Interceptor = {
    sendMessage: async (request, call, next) =>
      request.configuration?.returnImmediately && streams < maxStreams
        ? await sendByStream(request, call, next)
        : await next(request, call),
    async cancelTask(request, call, next) {
      const task = await next(request, call)
      for (const onCancel of cancelListeners) onCancel(task.id)
      return task
    },
  }
  return intercept(service, [interceptor])
}

/** Says why an agent may have let a send wait that should have returned. */
const explainWaiting: Interceptor = {
  async sendMessage(request, call, next) {
    try {
      return await next(request, call)
    } catch (error) {
      const isLate = error instanceof A2AError && error.reason === 'deadline'
      if (!isLate || !request.configuration?.returnImmediately) throw error
      const reason =
        'Agents of A2A 0.1 and 0.2 may answer a send only when the task has ended, also one that should return.'
      throw new A2AError('timeout', `${error.message} ${reason}`, { cause: error, reason: 'deadline' })
    }
  },
}

/** The errors of agents that do not stream, although their card says so. */
const refusals: ReadonlySet<string> = new Set(['method-not-found', 'unsupported-operation', 'streaming-not-supported'])
