import { defined } from '../../base/json.ts'
import type { Trace } from '../../base/trace-context.ts'
import { A2AError, invalidParams, taskNotFound } from '../../protocol/errors.ts'
import { clientTools } from '../../protocol/extensions/client-tools.ts'
import type { Call, Operation, PushConfig, PushConfigRef, SendRequest, Service } from '../../protocol/service.ts'
import type { Push, RegisteredConfig } from '../../push/push.ts'
import type { FoldedLog } from '../../tasks/fold.ts'
import type { CallerLog, VisibleHead } from '../caller-log.ts'
import type { AcceptedMessage } from './idempotency.ts'

/** The operations on the webhooks of tasks. Webhooks that the caller must not see do not exist for it. */
export function createPushOperations(
  push: Push | undefined,
  logOf: (call: Call, operation: Operation) => CallerLog,
): Pick<Service, PushOperation> {
  if (!push) {
    const reject = async () => {
      throw new A2AError('push-not-supported', 'This agent sends no push notifications.')
    }
    return { createPushConfig: reject, getPushConfig: reject, listPushConfigs: reject, deletePushConfig: reject }
  }

  async function visibleConfigs({ taskId }: VisibleHead, log: CallerLog): Promise<readonly RegisteredConfig[]> {
    return (await push?.list(taskId))?.filter(({ owner }) => log.canSee(owner)) ?? []
  }

  /** Finds a config by its id, the caller's own first. Without an id: the one without an id, or else the oldest. */
  async function findConfig(
    head: VisibleHead,
    { id }: PushConfigRef,
    log: CallerLog,
  ): Promise<RegisteredConfig | undefined> {
    const all = await visibleConfigs(head, log)
    const named = all.filter((config) => config.id === (id ?? head.taskId))
    return named.find(({ owner }) => owner === log.owner) ?? named[0] ?? (id === undefined ? all[0] : undefined)
  }

  return {
    async createPushConfig({ taskId = '', isAlias, ...config }, call) {
      const log = logOf(call, 'createPushConfig')
      const address = isAlias ? { taskId, isAlias } : { taskId }
      const head = await log.task(address)
      await push.check(config, call)
      return await push.register({
        task: head,
        owner: log.owner,
        config,
        after: head.generation,
        trace: await traceOfTask(head.taskId, log),
        knowsRequests: call.extensions?.includes(clientTools),
        isForwarded: call.isForwarded,
        ...defined({ alias: isAlias ? taskId : undefined }),
      })
    },

    async getPushConfig(request, call) {
      const log = logOf(call, 'getPushConfig')
      const head = await log.task(request)
      const registered = await findConfig(head, request, log)
      if (registered) return registered.config
      if (request.mayBeMissing) return { url: '', taskId: request.taskId }
      const missing = request.id === undefined ? 'no push config' : `no push config ${request.id}`
      throw new A2AError('task-not-found', `Task ${request.taskId} has ${missing}.`)
    },

    async listPushConfigs(request, call) {
      const { pageSize, pageToken = '' } = request
      const log = logOf(call, 'listPushConfigs')
      const all = await visibleConfigs(await log.task(request), log)
      if (!/^\d{0,15}$/.test(pageToken))
        throw invalidParams('pageToken', 'expected the nextPageToken of an earlier page')
      if (pageSize !== undefined && pageSize < 0) throw invalidParams('pageSize', 'expected 1 or more, or 0 for all')
      const rest = all.filter(({ place }) => place > Number(pageToken))
      const page = rest.slice(0, pageSize || rest.length)
      const isLast = page.length === rest.length
      return { configs: page.map(({ config }) => config), nextPageToken: isLast ? '' : `${page.at(-1)?.place}` }
    },

    async deletePushConfig(request, call) {
      const log = logOf(call, 'deletePushConfig')
      const head = await log.task(request)
      if (request.id === undefined) throw taskNotFound(request.taskId)
      // A caller that sees the webhooks of other owners can still remove only its own.
      await push.remove({ taskId: head.taskId, owner: log.owner, id: request.id })
    },
  }
}

interface InlineContext {
  readonly request: SendRequest
  readonly call: Call
  readonly push: Pick<Push, 'register'>
  readonly log: CallerLog
}

/** Registers the webhook that came with a message. */
export async function registerInline(
  config: PushConfig,
  { task, generation, isRepeated }: AcceptedMessage,
  { request: { dialect, quirks: { alias } = {}, tenant }, call, push, log }: InlineContext,
): Promise<void> {
  const isFirst = generation === 1 && !isRepeated
  await push.register({
    task,
    owner: log.owner,
    config: { ...config, ...defined({ dialect, tenant }) },
    after: generation,
    isInline: true,
    isFirst,
    ...defined({ alias }),
    trace: isFirst ? call.trace : await traceOfTask(task.taskId, log),
    knowsRequests: call.extensions?.includes(clientTools),
    isForwarded: call.isForwarded,
  })
}

/** The trace of the message that created a task. All deliveries of the task belong to it. */
async function traceOfTask(taskId: string, log: Pick<FoldedLog, 'read'>): Promise<Trace | undefined> {
  const [first] = await log.read(taskId, 0)
  return first?.event.type === 'message' ? first.event.trace : undefined
}

type PushOperation = 'createPushConfig' | 'getPushConfig' | 'listPushConfigs' | 'deletePushConfig'
