import type { Clock } from '../base/clock.ts'
import type { ImmediateSends } from '../dialects/dialect.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { type Interceptor, intercept, type UnaryNext } from '../protocol/intercept.ts'
import type { Call, Outcome, SendRequest, Service } from '../protocol/service.ts'
import { type CancelListeners, endWithTask } from './resilience/end-with-task.ts'
import { createPosition } from './resilience/stream-position.ts'

/** Streams that are read in the background. Beyond this number, a send waits as long as the agent makes it wait. */
const maxStreams = 100

export interface ImmediateSendOptions {
  readonly dialect: { readonly immediateSends?: ImmediateSends }
  /** The headers of the answer with the card. */
  readonly headers: Pick<Headers, 'get'> | undefined
  /** Whether the card declares streams. An agent without them can only be waited for. */
  readonly mayStream: boolean
  readonly clock: Clock
}

/** The service of an agent that answers sends at the end of the task: a send that returns immediately opens a stream. */
export function withImmediateSends(service: Service, options: ImmediateSendOptions): Service {
  const { dialect, headers, mayStream, clock } = options
  const { immediateSends } = dialect
  const isAffected = immediateSends?.software?.test(headers?.get('server') ?? '') ?? true
  if (!immediateSends || !mayStream || !isAffected) return service
  const cancelListeners: CancelListeners = new Set()
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
    const position = createPosition()
    const open = (signal: AbortSignal) => service.streamMessage(request, { ...call, signal })
    const events = endWithTask(open, { service, call, position, cancelListeners, clock })
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
    if (immediateSends?.stream === 'read') void readOn(events)
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

/** The errors of agents that do not stream, although their card says so. */
const refusals: ReadonlySet<string> = new Set(['method-not-found', 'unsupported-operation', 'streaming-not-supported'])
