import type { ErasedTask } from '../../core/tasks/log.ts'
import type { Database } from './database.ts'
import type { Retention } from './log-engine.ts'
import { decodeText } from './sql-text.ts'

export interface OwnedRow {
  readonly key: number | string
  readonly task_id: string
  readonly context_id: string
  readonly owner: string
  readonly events: number
  /** Owners and ids of the webhooks, as JSON. */
  readonly webhooks: string | null
}

export interface SelectionValues {
  readonly owner: string | null
  readonly contextId: string | null
  readonly limit: number
}

export interface EraseStatements {
  readonly select: (values: SelectionValues) => Promise<readonly OwnedRow[]>
  /** Removes the tasks with these keys with everything that belongs to them. Returns the removed rows. */
  readonly drop: (keys: readonly OwnedRow['key'][]) => Promise<readonly OwnedRow[]>
}

/** As the tasks are selected before they are removed, a lost response loses nothing. */
export function createErase(
  db: Pick<Database, 'withRetry'>,
  { select, drop }: EraseStatements,
  encode: (text: string) => string,
): Retention['erase'] {
  async function dropAll(selected: readonly OwnedRow[]): Promise<readonly OwnedRow[]> {
    let mayBeDropped = false
    const rows = await db.withRetry(() =>
      drop(selected.map(({ key }) => key)).catch((error) => {
        mayBeDropped = true
        throw error
      }),
    )
    const dropped = new Map(rows.map((row) => [row.key, row]))
    return selected.flatMap((row) => dropped.get(row.key) ?? (mayBeDropped ? row : []))
  }

  return async ({ owner, contextId }, limit) => {
    const optional = (text: string | undefined) => (text === undefined ? null : encode(text))
    let rows: readonly OwnedRow[] = []
    // If another replica removed all selected rows, select again: there may be more.
    for (let isDone = false; !isDone && rows.length === 0; ) {
      const values = { owner: optional(owner), contextId: optional(contextId), limit }
      const selected = await db.withRetry(() => select(values))
      isDone = selected.length === 0
      if (!isDone) rows = await dropAll(selected)
    }
    return rows.map((row) => ({
      taskId: decodeText(row.task_id),
      contextId: decodeText(row.context_id),
      owner: decodeText(row.owner),
      events: Number(row.events),
      webhooks: decodeWebhooks(row),
    }))
  }
}

function decodeWebhooks({ webhooks }: OwnedRow): ErasedTask['webhooks'] {
  const keys = JSON.parse(webhooks ?? '[]') as readonly (readonly [owner: string, id: string])[]
  return keys.map(([owner, id]) => ({ owner: decodeText(owner), id: decodeText(id) }))
}
