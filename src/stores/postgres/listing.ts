import type { HeadPage, ListQuery } from '../../tasks/log.ts'
import type { Database } from './database.ts'
import type { PostgresValue } from './driver.ts'
import { decodeHead, type HeadRow, selectHeads } from './heads.ts'
import { ownedBy } from './owned-by.ts'
import { encodeText } from './text.ts'

export type Listing = (query: ListQuery) => Promise<HeadPage>

export function createListing(db: Database): Listing {
  return async ({ owner, also, contextId, phase, changedSince, cursor, limit }) => {
    // Only tasks have a status, and so only they are listed.
    const owned = ownedBy({ owner, also })
    const where = ['task.status_generation IS NOT NULL', ...owned.conditions]
    const values: PostgresValue[] = [...owned.values]
    const filter = (condition: string, value: PostgresValue | undefined) => {
      if (value === undefined) return
      values.push(value)
      where.push(`${condition} $${values.length}`)
    }

    filter('task.context_id =', contextId === undefined ? undefined : encodeText(contextId))
    filter('task.phase =', phase)
    filter('task.changed >=', changedSince === undefined ? undefined : Math.ceil(changedSince))
    const count = db.prepare<{ readonly total: number }>(
      `SELECT count(*)::float8 AS total FROM ${db.name('tasks')} AS task WHERE ${where.join(' AND ')}`,
    )
    const counted = count(...values)

    const paged: PostgresValue[] = [...values]
    if (cursor) {
      paged.push(cursor.changed, cursor.key)
      where.push(`(task.changed, task.key) < ($${paged.length - 1}, $${paged.length})`)
    }
    // One more than asked for shows whether there is another page.
    paged.push(limit + 1)
    const page = db.prepare<HeadRow>(
      `${selectHeads(db)} WHERE ${where.join(' AND ')} ORDER BY task.changed DESC, task.key DESC LIMIT $${paged.length}`,
    )
    const [[found], rows] = await Promise.all([counted, page(...paged)])
    const shown = rows.slice(0, limit)
    const last = rows.length > limit ? shown.at(-1) : undefined
    const next = last && { changed: last.changed, key: last.key }
    return { heads: shown.map(decodeHead), total: found?.total ?? 0, next }
  }
}
