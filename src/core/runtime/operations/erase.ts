import { defined } from '../../base/json.ts'
import { ownerOf, type Principal } from '../../protocol/model.ts'
import { eraseWebhooks, type LogWithWebhooks, type Push } from '../../push/push.ts'
import type { WebhookKey } from '../../push/store.ts'
import type { TaskSelection } from '../../tasks/log.ts'
import type { Runs } from '../turns/leased-runs.ts'

const batchSize = 500

/** Which tasks to erase: those of a principal, of a context, or of a principal in a context. */
export type EraseRequest =
  | { readonly principal: Pick<Principal, 'id' | 'tenant'>; readonly contextId?: string }
  | { readonly principal?: undefined; readonly contextId: string }

export interface EraseContext {
  readonly log: LogWithWebhooks
  readonly runs: Pick<Runs, 'get'>
  readonly push: Pick<Push, 'erase'> | undefined
}

/** The erased tasks. Their messages, artifacts, journals, snapshots, claims and webhooks are removed with them. */
export interface Erased {
  readonly tasks: readonly { readonly taskId: string; readonly contextId: string; readonly events: number }[]
  readonly pushConfigs: number
}

/** Erases tasks in any state. Their turns are stopped, and cannot store anything more. */
export async function erase(request: EraseRequest, { log, runs, push }: EraseContext): Promise<Erased> {
  const selection = readRequest(request)
  const tasks: Erased['tasks'][number][] = []
  const erasedWebhooks: WebhookKey[] = []
  for (;;) {
    const erased = await log.erase(selection, batchSize)
    for (const { taskId, contextId, events, webhooks = [] } of erased) {
      runs.get(taskId)?.stop('lease-lost')
      tasks.push({ taskId, contextId, events })
      for (const webhook of webhooks) erasedWebhooks.push({ taskId, ...webhook })
    }
    if (erased.length === 0) break
  }
  const { owner, contextId } = selection
  const taskIds = tasks.map(({ taskId }) => taskId)
  const erasure = {
    taskIds,
    owner: contextId === undefined ? owner : undefined,
    alreadyRemoved: erasedWebhooks,
  }
  // Without push in this process, other processes may still have webhooks.
  const count = push ? await push.erase(erasure) : log.webhooks && (await eraseWebhooks(log.webhooks, erasure)).length
  return { tasks, pushConfigs: count ?? 0 }
}

/** Throws for an empty request: it must not erase everything. */
function readRequest({ principal, contextId }: EraseRequest): TaskSelection {
  if (principal !== undefined && typeof principal.id !== 'string') {
    throw new TypeError(`erase(): expected principal.id to be a text, got ${JSON.stringify(principal.id)}`)
  }
  const isContext = typeof contextId === 'string' && contextId !== ''
  if (contextId !== undefined && !isContext) {
    throw new TypeError(`erase(): expected contextId to be a text that is not empty, got ${JSON.stringify(contextId)}`)
  }
  if (principal) return defined({ owner: ownerOf(principal), contextId: isContext ? contextId : undefined })
  if (!isContext) throw new TypeError('erase(): expected a principal, a contextId, or both; got neither')
  return { contextId }
}
