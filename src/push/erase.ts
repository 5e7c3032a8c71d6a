import type { PushStore, StoredWebhook, WebhookKey } from './store.ts'

/** Whose webhooks go: those of tasks, and those that an owner has registered, for whichever task. */
export interface ErasedOf {
  readonly taskIds: readonly string[]
  readonly owner?: string | undefined
  /** Those that the log has removed together with their tasks. */
  readonly gone: readonly WebhookKey[]
}

const page = 500

/** Removes webhooks that are left; answers which have been removed. */
export async function eraseWebhooks(store: PushStore, of: ErasedOf): Promise<readonly WebhookKey[]> {
  const { taskIds, owner, gone } = of
  const removed = [...gone]

  async function remove(found: readonly StoredWebhook[]): Promise<void> {
    for (const key of found) if (await store.remove(key)) removed.push(key)
  }

  for (const taskId of taskIds) await remove(await store.list({ taskId, limit: page }))
  if (owner === undefined) return removed
  for (let after: number | undefined; ; ) {
    const all = await store.list({ limit: page, ...(after !== undefined && { after }) })
    await remove(all.filter((webhook) => webhook.owner === owner))
    after = all.at(-1)?.place
    if (all.length < page) return removed
  }
}
