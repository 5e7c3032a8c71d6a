import type { CalledAgent, CallTarget } from '../../agent/call-agent.ts'
import { withTimeout } from '../../base/abort.ts'
import { type Trace, traceHeaders } from '../../base/trace-context.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { hopsHeader } from '../../protocol/extensions/lineage.ts'
import { anonymous, type Message, type Task, type TaskState } from '../../protocol/model.ts'
import type { Call, SendRequest } from '../../protocol/service.ts'
import { createFold, type Fold } from '../../tasks/fold.ts'
import type { TurnScope } from '../turns/turn-scope.ts'
import type { CallPlan } from './options.ts'

/** Timeout in milliseconds for cancelling: first until the task is known, then until the other agent has canceled it. */
const cancelTimeout = 2_000

/** The connection to the task of another agent, for as long as a call lasts in this process. */
export interface RemoteTask {
  /** Resolves the target to an agent, once. */
  agent(): Promise<CalledAgent>
  /** The stream of the task, if one is open. */
  readonly reader: StreamReader | undefined
  readonly child: ChildTask
  send(agent: CalledAgent, request: SendRequest, idempotencyKey: string): StreamReader
  attach(agent: CalledAgent, taskId: string): StreamReader
  /** Cancels the task. Without an id, the task that the open stream is about to create. */
  cancel(taskId: string | undefined): Promise<void>
  close(): void
}

/** A stream whose next event can be read without consuming it. */
export interface StreamReader {
  peek(): Promise<Next>
  take(): Promise<Next>
  close(): void
}

/** The other agent's task, folded from its events. */
export interface ChildTask {
  apply(event: StreamEvent): void
  state(): TaskState | undefined
  /** The message of the status. */
  message(): Message | undefined
  /** The task. Of its history, only the last message of the agent is kept. */
  task(): Task | undefined
}

export function openRemoteTask(
  { target, options, lineage }: CallPlan,
  { task, settings, secrets }: TurnScope,
  trace: Trace | undefined,
): RemoteTask {
  const { reach, auth, fetch, headers, loopback } = settings.calls
  const closing = new AbortController()
  const child = createChildTask()
  let agent: Promise<CalledAgent> | undefined
  let reader: StreamReader | undefined

  function resolveAgent(): Promise<CalledAgent> {
    if (isCalledAgent(target)) return Promise.resolve(target)
    if (!reach) {
      const advice =
        'Make the agent by agent() of parley-a2a, hand in a connected client, or give calls.reach: in a Worker, reachAgents() ' +
        'of parley-a2a/server.'
      return Promise.reject(new TypeError(`turn.call(): this agent has no way to find others. ${advice}`))
    }
    const providers = options.auth ?? auth
    return reach(target, {
      ...(providers && { auth: providers }),
      ...(fetch && { fetch }),
      ...(loopback && { loopback }),
      onSecret: secrets.add,
    })
  }

  function createCall({ card: { name } }: CalledAgent, idempotencyKey?: string): Call {
    const outgoing = { taskId: task.taskId, contextId: task.contextId, agent: name }
    const hops = { [hopsHeader]: `${lineage.chain.length}` }
    const allHeaders = { ...traceHeaders(trace), ...hops, ...headers?.(outgoing), ...options.headers }
    return {
      principal: anonymous,
      signal: closing.signal,
      ...(trace && { trace }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      headers: allHeaders,
    }
  }

  function open(stream: AsyncGenerator<StreamEvent>): StreamReader {
    reader?.close()
    reader = createReader(stream)
    return reader
  }

  async function startedTaskId(): Promise<string | undefined> {
    const late = () => new Error('The agent did not name its task in time.')
    const first =
      reader && (await withTimeout(reader.peek(), cancelTimeout, late, settings.clock).catch(() => undefined))
    if (!first || first.done) return undefined
    const event = first.value
    if (event.type === 'message') return undefined
    return event.type === 'task' ? event.task.id : event.taskId
  }

  return {
    agent() {
      agent ??= resolveAgent()
      return agent
    },
    get reader() {
      return reader
    },
    child,
    send(called, request, key) {
      const { extensions } = request.message
      const call = { ...createCall(called, key), ...(extensions && { extensions }) }
      return open(called.service.streamMessage(request, call))
    },
    attach: (called, taskId) =>
      open(called.service.subscribeToTask({ taskId, includeEnded: true }, createCall(called))),
    async cancel(id) {
      const taskId = id ?? (await startedTaskId())
      if (taskId === undefined) return
      const called = await (agent ?? resolveAgent())
      const signal = AbortSignal.timeout(cancelTimeout)
      await called.service.cancelTask({ taskId }, { ...createCall(called), signal })
    },
    close() {
      reader?.close()
      closing.abort('over')
    },
  }
}

type Next = IteratorResult<StreamEvent, unknown>

function createChildTask(): ChildTask {
  let fold: Fold | undefined
  let state: TaskState | undefined
  let message: Message | undefined

  function reset({ id: taskId, contextId, status, artifacts, generation, history }: Task): void {
    fold = createFold(
      { taskId, contextId, owner: '' },
      { taskId, contextId, owner: '', generation, status, artifacts, history: lastOfAgent(history) },
    )
    state = status.state
    message = status.message
  }

  return {
    apply(event) {
      if (event.type === 'message') return
      if (event.type === 'task') return reset(event.task)
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
      return task && { ...task, history: lastOfAgent(task.history) }
    },
  }
}

/** Some agents put their answer into the history only. */
function lastOfAgent(history: readonly Message[]): readonly Message[] {
  return history.filter(({ role }) => role === 'agent').slice(-1)
}

function isCalledAgent(target: CallTarget): target is CalledAgent {
  return typeof target === 'object' && 'service' in target && 'card' in target
}

function createReader(stream: AsyncGenerator<StreamEvent>): StreamReader {
  let next: Promise<Next> | undefined
  function peek(): Promise<Next> {
    next ??= stream.next()
    next.catch(() => {}) // a failure that is never taken must not crash the process
    return next
  }
  return {
    peek,
    take() {
      const taken = peek()
      next = undefined
      return taken
    },
    close: () => void stream.return(undefined).catch(() => {}),
  }
}
