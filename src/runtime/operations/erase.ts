import type { Principal } from '../../protocol/model.ts'
import { ownerOf } from '../../protocol/principal.ts'
import { eraseWebhooks, type LogWithWebhooks, type Push } from '../../push/push.ts'
import type { WebhookKey } from '../../push/store.ts'
import type { TaskSelection } from '../../tasks/log.ts'
import type { Runs } from '../turns/runs.ts'

const batch = 500

/** What is to be erased: the tasks of a principal, of a context, or of a principal in a context. */
export type EraseRequest =
  | { readonly principal: Pick<Principal, 'id' | 'tenant'>; readonly contextId?: string }
  | { readonly principal?: undefined; readonly contextId: string }

export interface EraseContext {
  readonly log: LogWithWebhooks
  readonly runs: Pick<Runs, 'get'>
  readonly push: Pick<Push, 'erase'> | undefined
}

/** What was removed, with all that belonged to it: messages, artifacts, journal, snapshots, keys, webhooks. */
export interface Erased {
  readonly tasks: readonly { readonly taskId: string; readonly contextId: string; readonly events: number }[]
  readonly pushConfigs: number
}

/** Erases tasks in whatever state. Turns that are at work on them are stopped, and can store nothing more. */
export async function erase(request: EraseRequest, { log, runs, push }: EraseContext): Promise<Erased> {
  const whose = readRequest(request)
  const tasks: Erased['tasks'][number][] = []
  const gone: WebhookKey[] = []
  for (;;) {
    const erased = await log.erase(whose, batch)
    for (const { taskId, contextId, events, webhooks = [] } of erased) {
      runs.get(taskId)?.stop('lease-lost')
      tasks.push({ taskId, contextId, events })
      for (const webhook of webhooks) gone.push({ taskId, ...webhook })
    }
    if (erased.length === 0) break
  }
  const { owner, contextId } = whose
  const taskIds = tasks.map(({ taskId }) => taskId)
  const of = { taskIds, owner: contextId === undefined ? owner : undefined, alreadyRemoved: gone }
  // Other processes may push although this one does not.
  const webhooks = push ? await push.erase(of) : log.webhooks && (await eraseWebhooks(log.webhooks, of)).length
  return { tasks, pushConfigs: webhooks ?? 0 }
}

/** Nothing is erased by an empty wish. */
function readRequest({ principal, contextId }: EraseRequest): TaskSelection {
  if (principal !== undefined && typeof principal.id !== 'string') {
    throw new TypeError(`erase(): expected principal.id to be a text, got ${JSON.stringify(principal.id)}`)
  }
  const isContext = typeof contextId === 'string' && contextId !== ''
  if (contextId !== undefined && !isContext) {
    throw new TypeError(`erase(): expected contextId to be a text that is not empty, got ${JSON.stringify(contextId)}`)
  }
  if (principal) return { owner: ownerOf(principal), ...(isContext && { contextId }) }
  if (!isContext) throw new TypeError('erase(): expected a principal, a contextId, or both; got neither')
  return { contextId }
}
