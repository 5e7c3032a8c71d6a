import type { Callee, CallTarget } from '../../agent/calling.ts'
import { anonymous } from '../../protocol/model.ts'
import type { Call, SendRequest } from '../../protocol/service.ts'
import { type Trace, traceHeaders } from '../../protocol/trace.ts'
import type { Scene } from '../scene.ts'
import { type ChildTask, createChildTask } from './child-task.ts'
import type { Plan } from './plan.ts'
import { createReader, type Reader } from './reader.ts'

/** The way to another agent, as long as a call lasts in this process. */
export interface Contact {
  callee(): Promise<Callee>
  /** What it tells, if it is being read. */
  readonly reader: Reader | undefined
  /** What it has told so far. */
  readonly child: ChildTask
  send(callee: Callee, request: SendRequest, idempotencyKey: string): Reader
  attach(callee: Callee, taskId: string): Reader
  /** Cancels the task, or the one that is about to begin. */
  cancel(taskId: string | undefined): Promise<void>
  close(): void
}

/** How long a task that is to be canceled may take to tell its id, and the other agent to cancel it, in milliseconds. */
const patience = 2_000

export function createContact(
  { target, options }: Plan,
  { task, settings, secrets }: Scene,
  trace: Trace | undefined,
): Contact {
  const { reach, auth, fetch, headers } = settings.calls
  const wire = new AbortController()
  const child = createChildTask()
  let found: Promise<Callee> | undefined
  let reader: Reader | undefined

  function find(): Promise<Callee> {
    if (isCallee(target)) return Promise.resolve(target)
    if (!reach) {
      const advice = 'Make the agent by agent() of parley-a2a, hand in a connected client, or give calls.reach.'
      return Promise.reject(new TypeError(`turn.call(): this agent has no way to find others. ${advice}`))
    }
    const providers = options.auth ?? auth
    const how = { ...(providers && { auth: providers }), ...(fetch && { fetch }) }
    return reach(target, { ...how, onSecret: secrets.add })
  }

  function callWith({ card: { name } }: Callee, idempotencyKey?: string): Call {
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
      read(createReader(callee.service.subscribeToTask({ taskId, tellEnded: true }, callWith(callee)))),
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

function isCallee(target: CallTarget): target is Callee {
  return typeof target === 'object' && 'service' in target && 'card' in target
}
