import type { StreamEvent } from '../protocol/events.ts'
import type { Task } from '../protocol/model.ts'
import { type Output, type Reply, toOutput, toReply } from '../protocol/reply.ts'
import type { PushConfig, Service } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'
import { type ClientEvent, isSettled, toClientEvents } from './events.ts'
import { allPushConfigs } from './list-pages.ts'
import type { CallOptions } from './options.ts'
import { forwardAbort } from './resilience/end-with-task.ts'
import { fromTask } from './resilience/missed-events.ts'
import { callOf, type PushReceiver, pushConfigOf } from './send-request.ts'

export type NewPushConfig = Omit<PushConfig, 'taskId' | 'isAlias' | 'tenant'>

/** Manages the webhooks of a task. */
export interface PushHandle {
  create(push: NewPushConfig | PushReceiver, options?: CallOptions): Promise<PushConfig>
  get(id: string, options?: CallOptions): Promise<PushConfig>
  list(options?: CallOptions): AsyncGenerator<PushConfig>
  delete(id: string, options?: CallOptions): Promise<void>
}

/** A task of the agent, by its id. Creating a handle sends nothing. */
export interface TaskHandle {
  readonly id: string
  get(options?: CallOptions & { readonly historyLength?: number }): Promise<Task>
  /** Waits until the task has ended or needs its caller. */
  wait(options?: CallOptions): Promise<Reply>
  /** Emits the task as it is and then every change. A task that has ended is emitted once. */
  subscribe(options?: CallOptions): AsyncGenerator<ClientEvent>
  cancel(options?: CallOptions): Promise<Task>
  artifacts(options?: CallOptions): Promise<readonly Output[]>
  /** The push notification configs of the task. */
  readonly push: PushHandle
}

/** Adds to an error what the client knows about its cause. */
export type ExplainError = (error: unknown) => unknown

/** `explainPush` explains why a webhook was refused. */
export function createTaskHandle(service: Service, taskId: string, explainPush: ExplainError): TaskHandle {
  const get: TaskHandle['get'] = ({ historyLength, ...options } = {}) =>
    service.getTask({ taskId, historyLength }, callOf(options))
  async function* events(options?: CallOptions): AsyncGenerator<StreamEvent> {
    // Agents reject the subscription to a task that has ended, each by another error.
    const task = await get(options)
    if (isEnded(task.status.state)) return yield { type: 'task', task, isLast: true }
    const call = callOf(options)
    const stream = forwardAbort(call.signal)
    try {
      const { signal } = stream
      const subscription = service.subscribeToTask({ taskId, includeEnded: true }, { ...call, signal })
      yield* fromTask(task, subscription, () => get(options))
    } finally {
      stream.abort()
    }
  }
  const subscribe: TaskHandle['subscribe'] = (options) => toClientEvents(events(options))

  return {
    id: taskId,
    get,
    subscribe,
    async wait(options) {
      const task = await get(options)
      if (isSettled(task)) return toReply({ type: 'task', task })
      for await (const event of subscribe(options)) if (isSettledAfter(event)) break
      return toReply({ type: 'task', task: await get(options) })
    },
    cancel: (options) => service.cancelTask({ taskId }, callOf(options)),
    async artifacts(options) {
      const { artifacts } = await get(options)
      return artifacts.map(toOutput)
    },
    push: {
      async create(push, options) {
        const config = { ...(await pushConfigOf(push)), taskId }
        try {
          return await service.createPushConfig(config, callOf(options))
        } catch (error) {
          throw explainPush(error)
        }
      },
      get: (id, options) => service.getPushConfig({ taskId, id }, callOf(options)),
      list: (options) => allPushConfigs(service, taskId, options),
      delete: (id, options) => service.deletePushConfig({ taskId, id }, callOf(options)),
    },
  }
}

function isSettledAfter(event: StreamEvent): boolean {
  switch (event.type) {
    case 'message':
      return true
    case 'artifact':
      return false
    case 'task':
      return isSettled(event.task)
    case 'status':
      return isSettled(event)
  }
}
