import { A2AError, taskNotFound } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Message, Principal, Task } from '../protocol/model.ts'
import { ownerOf } from '../protocol/principal.ts'
import type { Call, Outcome, SendRequest, Service, TaskAddress } from '../protocol/service.ts'

export interface KeptApartOptions {
  /** Tasks, and contexts, whose owners are remembered. Of more, the oldest are nobody's, and nobody sees them. */
  readonly capacity?: number
}

/**
 * For a service to which all callers are one, as a client is to its agent: each sees only the tasks and contexts that it
 * has begun itself. This is remembered here, for as long as this lives: after a restart, what was begun before is
 * nobody's.
 */
export function isolateOwners(service: Service, { capacity = 10_000 }: KeptApartOptions = {}): Service {
  const tasks = createOwners(capacity)
  const contexts = createOwners(capacity)

  /** An agent that knows a message again answers with the task that it began, whoever sent it. */
  function note({ id, contextId }: Pick<Task, 'id' | 'contextId'>, { principal }: Call): void {
    if (!tasks.note(id, principal)) {
      throw new A2AError('conflict', 'A message of this messageId was sent before: take a new one.')
    }
    contexts.note(contextId, principal)
  }

  function noteEvent(event: StreamEvent, call: Call): void {
    if (event.type === 'task') note(event.task, call)
    else if (event.type === 'message') noteMessage(event.message, call)
    else note({ id: event.taskId, contextId: event.contextId }, call)
  }

  function noteMessage({ contextId }: Message, { principal }: Call): void {
    if (contextId !== undefined) contexts.note(contextId, principal)
  }

  function noteOutcome(outcome: Outcome, call: Call): Outcome {
    if (outcome.type === 'task') note(outcome.task, call)
    else noteMessage(outcome.message, call)
    return outcome
  }

  function requireTask(taskId: string, { principal }: Call): void {
    if (!tasks.isOf(taskId, principal)) throw taskNotFound(taskId)
  }

  function requireOwn({ message }: SendRequest, call: Call): void {
    const { taskId, contextId, referenceTaskIds = [] } = message
    for (const id of taskId === undefined ? referenceTaskIds : [taskId, ...referenceTaskIds]) requireTask(id, call)
    if (contextId === undefined || contexts.isOf(contextId, call.principal)) return
    const problem = `There is no context ${contextId}, or it is not yours: begin without one, and the agent gives it.`
    throw new A2AError('context-not-found', problem)
  }

  /** An operation about a task. */
  function own<R extends TaskAddress, T>(operation: (request: R, call: Call) => Promise<T>) {
    return async (request: R, call: Call): Promise<T> => {
      requireTask(request.taskId, call)
      return await operation(request, call)
    }
  }

  return {
    async sendMessage(request, call) {
      requireOwn(request, call)
      return noteOutcome(await service.sendMessage(request, await withOwnKey(call)), call)
    },
    async *streamMessage(request, call) {
      requireOwn(request, call)
      for await (const event of service.streamMessage(request, await withOwnKey(call))) {
        noteEvent(event, call)
        yield event
      }
    },
    getTask: own(service.getTask),
    cancelTask: own(service.cancelTask),
    async listTasks(request, call) {
      const page = await service.listTasks(request, call)
      const seen = page.tasks.filter(({ id }) => tasks.isOf(id, call.principal))
      // How many there are that fit, only the agent knows, and it counts those of all.
      return { ...page, tasks: seen, totalSize: Math.min(page.totalSize, tasks.countOf(call.principal)) }
    },
    async *subscribeToTask(request, call) {
      requireTask(request.taskId, call)
      yield* service.subscribeToTask(request, call)
    },
    async createPushConfig(request, call) {
      if (request.taskId !== undefined) requireTask(request.taskId, call)
      return await service.createPushConfig(request, call)
    },
    getPushConfig: own(service.getPushConfig),
    listPushConfigs: own(service.listPushConfigs),
    deletePushConfig: own(service.deletePushConfig),
    getExtendedCard: service.getExtendedCard,
  }
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
    note(id, principal) {
      const owner = ownerOf(principal)
      const known = owners.get(id)
      if (known !== undefined) return known === owner
      owners.set(id, owner)
      count(owner, 1)
      if (owners.size > capacity) forgetOldest()
      return true
    },
    isOf: (id, principal) => owners.get(id) === ownerOf(principal),
    countOf: (principal) => counts.get(ownerOf(principal)) ?? 0,
  }
}

interface Owners {
  /** The first one has it. Answers whether that is this one. */
  note(id: string, principal: Principal): boolean
  isOf(id: string, principal: Principal): boolean
  countOf(principal: Principal): number
}

/** To the agent all callers are one, and so are their keys. */
async function withOwnKey(call: Call): Promise<Call> {
  const { idempotencyKey, principal } = call
  if (idempotencyKey === undefined) return call
  const text = new TextEncoder().encode(JSON.stringify([ownerOf(principal), idempotencyKey]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return { ...call, idempotencyKey: Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('') }
}
