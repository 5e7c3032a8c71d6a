import type { CalledAgent, CallTarget } from '../../agent/call-agent.ts'
import { type Trace, traceHeaders } from '../../base/trace-context.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { anonymous, type Message, type Task, type TaskState } from '../../protocol/model.ts'
import type { Call, SendRequest } from '../../protocol/service.ts'
import { createFold, type Fold } from '../../tasks/fold.ts'
import type { TurnScope } from '../turns/turn-scope.ts'
import type { CallPlan } from './options.ts'

/** How long a task that is to be canceled may take to tell its id, and the other agent to cancel it, in milliseconds. */
const patience = 2_000

/** A stream of which one can look at the next event without taking it. */
export interface Reader {
  peek(): Promise<Next>
  take(): Promise<Next>
  close(): void
}

/** The other agent's task, as its events tell it. */
export interface ChildTask {
  take(event: StreamEvent): void
  state(): TaskState | undefined
  /** What the status says. */
  message(): Message | undefined
  /** Without its history, which is its own business. */
  task(): Task | undefined
}

/** The way to another agent, as long as a call lasts in this process. */
export interface RemoteTask {
  callee(): Promise<CalledAgent>
  /** What it tells, if it is being read. */
  readonly reader: Reader | undefined
  /** What it has told so far. */
  readonly child: ChildTask
  send(callee: CalledAgent, request: SendRequest, idempotencyKey: string): Reader
  attach(callee: CalledAgent, taskId: string): Reader
  /** Cancels the task, or the one that is about to begin. */
  cancel(taskId: string | undefined): Promise<void>
  close(): void
}

export function openRemoteTask(
  { target, options }: CallPlan,
  { task, settings, secrets }: TurnScope,
  trace: Trace | undefined,
): RemoteTask {
  const { reach, auth, fetch, headers } = settings.calls
  const wire = new AbortController()
  const child = createChildTask()
  let found: Promise<CalledAgent> | undefined
  let reader: Reader | undefined

  function find(): Promise<CalledAgent> {
    if (isCallee(target)) return Promise.resolve(target)
    if (!reach) {
      const advice = 'Make the agent by agent() of parley-a2a, hand in a connected client, or give calls.reach.'
      return Promise.reject(new TypeError(`turn.call(): this agent has no way to find others. ${advice}`))
    }
    const providers = options.auth ?? auth
    const how = { ...(providers && { auth: providers }), ...(fetch && { fetch }) }
    return reach(target, { ...how, onSecret: secrets.add })
  }

  function callWith({ card: { name } }: CalledAgent, idempotencyKey?: string): Call {
    const outgoing = { taskId: task.taskId, contextId: task.contextId, agent: name }
    const more = { ...traceHeaders(trace), ...headers?.(outgoing), ...options.headers }
    return {
      principal: anonymous,
      signal: wire.signal,
      ...(trace && { trace }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(Object.keys(more).length > 0 && { headers: more }),
    }
  }

  function read(next: Reader): Reader {
    reader?.close()
    reader = next
    return next
  }

  async function begunId(): Promise<string | undefined> {
    const first = await Promise.race([reader?.peek(), pause()]).catch(() => undefined)
    if (!first || first.done) return undefined
    const event = first.value
    if (event.type === 'message') return undefined
    return event.type === 'task' ? event.task.id : event.taskId
  }

  const pause = () => new Promise<undefined>((resolve) => settings.clock.setTimeout(() => resolve(undefined), patience))

  return {
    callee() {
      found ??= find()
      return found
    },
    get reader() {
      return reader
    },
    child,
    send: (callee, request, key) => read(createReader(callee.service.streamMessage(request, callWith(callee, key)))),
    attach: (callee, taskId) =>
      read(createReader(callee.service.subscribeToTask({ taskId, includeEnded: true }, callWith(callee)))),
    async cancel(known) {
      const taskId = known ?? (await begunId())
      if (taskId === undefined) return
      const callee = await (found ?? find())
      const signal = AbortSignal.timeout(patience)
      await callee.service.cancelTask({ taskId }, { ...callWith(callee), signal })
    },
    close: () => {
      reader?.close()
      wire.abort('over')
    },
  }
}

type Next = IteratorResult<StreamEvent, unknown>

function createChildTask(): ChildTask {
  let fold: Fold | undefined
  let state: TaskState | undefined
  let message: Message | undefined

  function begin({ id: taskId, contextId, status, artifacts, generation }: Task): void {
    fold = createFold(
      { taskId, contextId, owner: '' },
      { taskId, contextId, owner: '', generation, status, artifacts, history: [] },
    )
    state = status.state
    message = status.message
  }

  return {
    take(event) {
      if (event.type === 'message') return
      if (event.type === 'task') return begin(event.task)
      const { taskId, contextId, generation } = event
      fold ??= createFold({ taskId, contextId, owner: '' })
      fold.apply({ generation, event })
      if (event.type === 'artifact') return
      state = event.status.state
      message = event.status.message
    },
    state: () => state,
    message: () => message,
    task() {
      const task = fold?.task()
      return task && { ...task, history: [] }
    },
  }
}

function isCallee(target: CallTarget): target is CalledAgent {
  return typeof target === 'object' && 'service' in target && 'card' in target
}

function createReader(source: AsyncGenerator<StreamEvent>): Reader {
  let next: Promise<Next> | undefined
  function peek(): Promise<Next> {
    next ??= source.next()
    // Who does not take it does not have to hear of it.
    next.catch(() => {})
    return next
  }
  return {
    peek,
    take() {
      const taken = peek()
      next = undefined
      return taken
    },
    close: () => void source.return(undefined).catch(() => {}),
  }
}
