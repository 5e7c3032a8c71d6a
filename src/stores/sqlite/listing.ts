import type { HeadPage, ListQuery } from '../../tasks/log.ts'
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './driver.ts'
import { decodeHead, type HeadRow, selectHeads } from './heads.ts'
import { ownedBy } from './owned-by.ts'

export type Listing = (query: ListQuery) => HeadPage

export function createListing(db: SqliteDatabase): Listing {
  /** One for each combination of filters that was asked for. */
  const prepared = new Map<string, SqliteStatement>()

  function prepare(sql: string): SqliteStatement {
    const statement = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }

  return ({ owner, also, contextId, phase, changedSince, cursor, limit }) => {
    // Named, because SQLite would sometimes take the wider one. Those who see more than their own may wait longer.
    const index = also ? '' : ` INDEXED BY ${contextId === undefined ? 'tasks_of_owner' : 'tasks_of_context'}`
    const from = `tasks AS task${index}`
    const owned = ownedBy({ owner, also })
    // Only tasks have a status, and so only they are listed.
    const where = ['task.status_row IS NOT NULL', owned.condition]
    const values: SqliteValue[] = [...owned.values]
    const filter = (condition: string, ...given: (SqliteValue | undefined)[]) => {
      const known = given.filter((value) => value !== undefined)
      if (known.length === 0) return
      where.push(condition)
      values.push(...known)
    }

    filter('task.context_id = ?', contextId)
    filter('task.phase = ?', phase)
    filter('task.changed >= ?', changedSince)
    const count = prepare(`SELECT count(*) AS total FROM ${from} WHERE ${where.join(' AND ')}`)
    const { total } = count.get(...values) as { total: number }

    filter('(task.changed, task.key) < (?, ?)', cursor?.changed, cursor?.key)
    const page = prepare(
      `${selectHeads(from)} WHERE ${where.join(' AND ')} ORDER BY task.changed DESC, task.key DESC LIMIT ?`,
    )
    // One more than asked for shows whether there is another page.
    const rows = page.all(...values, limit + 1) as HeadRow[]
    const shown = rows.slice(0, limit)
    const last = rows.length > limit ? shown.at(-1) : undefined
    return { heads: shown.map(decodeHead), total, next: last && { changed: last.changed, key: last.key } }
  }
}
