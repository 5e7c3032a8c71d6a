import { sha256, toHex } from '../../core/base/hash.ts'
import { A2AError, taskNotFound } from '../../core/protocol/errors.ts'
import type { StreamEvent } from '../../core/protocol/events.ts'
import { intercept } from '../../core/protocol/intercept.ts'
import { type Message, ownerOf, type Principal, type Task } from '../../core/protocol/model.ts'
import type { Call, Outcome, SendRequest, Service, TaskAddress } from '../../core/protocol/service.ts'

export interface IsolateOwnersOptions {
  /** Tasks and contexts whose owners are remembered. Beyond that, the oldest become invisible. Defaults to 10,000. */
  readonly capacity?: number
}

/**
 * Isolates the callers of a service that sees them as one, as a remote agent does: each caller sees only tasks and
 * contexts that it started. Ownership is kept in memory, so tasks from before a restart are invisible.
 */
export function isolateOwners(service: Service, { capacity = 10_000 }: IsolateOwnersOptions = {}): Service {
  const tasks = createOwners(capacity)
  const contexts = createOwners(capacity)

  /** An agent that recognizes a repeated message returns the task that it started, whichever caller sent it. */
  function record({ id, contextId }: Pick<Task, 'id' | 'contextId'>, { principal }: Call): void {
    if (!tasks.claim(id, principal)) {
      throw new A2AError('conflict', 'A message with this messageId was sent before: use a new one.')
    }
    contexts.claim(contextId, principal)
  }

  function recordEvent(event: StreamEvent, call: Call): void {
    if (event.type === 'task') record(event.task, call)
    else if (event.type === 'message') recordMessage(event.message, call)
    else record({ id: event.taskId, contextId: event.contextId }, call)
  }

  function recordMessage({ contextId }: Message, { principal }: Call): void {
    if (contextId !== undefined) contexts.claim(contextId, principal)
  }

  function recordOutcome(outcome: Outcome, call: Call): Outcome {
    if (outcome.type === 'task') record(outcome.task, call)
    else recordMessage(outcome.message, call)
    return outcome
  }

  function requireTask(taskId: string, { principal }: Call): void {
    if (!tasks.isOwner(taskId, principal)) throw taskNotFound(taskId)
  }

  function requireOwnReferences({ message }: SendRequest, call: Call): void {
    const { taskId, contextId, referenceTaskIds = [] } = message
    for (const id of taskId === undefined ? referenceTaskIds : [taskId, ...referenceTaskIds]) requireTask(id, call)
    if (contextId === undefined || contexts.isOwner(contextId, call.principal)) return
    const text = `There is no context ${contextId}, or it is not yours: omit it, and the agent creates one.`
    throw new A2AError('context-not-found', text)
  }

  /** Not async, as the interceptor turns a thrown error into a rejection. */
  function ownTask<R extends TaskAddress, T>(request: R, call: Call, next: (request: R, call: Call) => T): T {
    requireTask(request.taskId, call)
    return next(request, call)
  }

  return intercept(service, [
    {
      async sendMessage(request, call, next) {
        requireOwnReferences(request, call)
        return recordOutcome(await next(request, withOwnerKey(call)), call)
      },
      async *streamMessage(request, call, next) {
        requireOwnReferences(request, call)
        for await (const event of next(request, withOwnerKey(call))) {
          recordEvent(event, call)
          yield event
        }
      },
      getTask: ownTask,
      cancelTask: ownTask,
      async listTasks(request, call, next) {
        const page = await next(request, call)
        const visible = page.tasks.filter(({ id }) => tasks.isOwner(id, call.principal))
        // The agent counts the tasks of all callers.
        return { ...page, tasks: visible, totalSize: Math.min(page.totalSize, tasks.countOf(call.principal)) }
      },
      async *subscribeToTask(request, call, next) {
        yield* ownTask(request, call, next)
      },
      createPushConfig(request, call, next) {
        if (request.taskId !== undefined) requireTask(request.taskId, call)
        return next(request, call)
      },
      getPushConfig: ownTask,
      listPushConfigs: ownTask,
      deletePushConfig: ownTask,
    },
  ])
}

function createOwners(capacity: number): Owners {
  const owners = new Map<string, string>()
  const counts = new Map<string, number>()

  function count(owner: string, change: number): void {
    const left = (counts.get(owner) ?? 0) + change
    if (left > 0) counts.set(owner, left)
    else counts.delete(owner)
  }

  function forgetOldest(): void {
    const [oldest] = owners
    if (!oldest) return
    owners.delete(oldest[0])
    count(oldest[1], -1)
  }

  return {
    claim(id, principal) {
      const owner = ownerOf(principal)
      const first = owners.get(id)
      if (first !== undefined) return first === owner
      owners.set(id, owner)
      count(owner, 1)
      if (owners.size > capacity) forgetOldest()
      return true
    },
    isOwner: (id, principal) => owners.get(id) === ownerOf(principal),
    countOf: (principal) => counts.get(ownerOf(principal)) ?? 0,
  }
}

interface Owners {
  /** The first principal becomes the owner. Returns whether this one is the owner. */
  claim(id: string, principal: Principal): boolean
  isOwner(id: string, principal: Principal): boolean
  countOf(principal: Principal): number
}

/** Makes idempotency keys of different callers distinct for the agent. */
function withOwnerKey(call: Call): Call {
  const { idempotencyKey, principal } = call
  if (idempotencyKey === undefined) return call
  return { ...call, idempotencyKey: toHex(sha256(JSON.stringify([ownerOf(principal), idempotencyKey]))) }
}
