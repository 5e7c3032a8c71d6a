import {
  maxValues,
  type OperatorRecords,
  type OperatorState,
  type OperatorValues,
} from '../../../core/base/operator-state.ts'
import type { Database } from '../../shared/database.ts'
import { decodeText, encodeText } from '../../shared/sql-text.ts'
import { isUniqueViolation } from '../connection.ts'
import { lines, linesSql } from '../sql-text.ts'

/** Attempts to append, if other replicas append to the same lists at the same moment. */
const maxAttempts = 10

export type RunQuery = <T>(run: () => Promise<T>) => Promise<T>

/** What operators share, in the schema of a log or of a registry. */
export function createPostgresOperatorState(db: Database, query: RunQuery): OperatorState {
  return { values: createValues(db, query), records: createRecords(db, query) }
}

function createValues(db: Database, query: RunQuery): OperatorValues {
  const values = db.name('operator_values')
  const select = db.prepare<{ readonly value: string }, Name>(
    ({ name }) => `SELECT value FROM ${values} WHERE name = ${name} AND expires > ${nowSql}`,
  )
  const upsert = db.prepare<unknown, Name & { readonly value: string; readonly expires: number }>(
    ({ name, value, expires }) => `
    INSERT INTO ${values} (name, value, expires) VALUES (${name}, ${value}, ${expires})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires = excluded.expires`,
  )
  const removeOld = db.prepare(
    () => `
    DELETE FROM ${values} WHERE expires <= ${nowSql} OR name IN (
      SELECT name FROM ${values} ORDER BY expires DESC OFFSET ${maxValues})`,
  )
  const remove = db.prepare<unknown, Name>(({ name }) => `DELETE FROM ${values} WHERE name = ${name}`)
  return {
    get: (name) =>
      query(async () => {
        const [row] = await select({ name: encodeText(name) })
        return row && decodeText(row.value)
      }),
    set: (name, value, expires) =>
      query(async () => {
        await upsert({ name: encodeText(name), value: encodeText(value), expires })
        await removeOld()
      }),
    delete: (name) =>
      query(async () => {
        await remove({ name: encodeText(name) })
      }),
  }
}

function createRecords(db: Database, query: RunQuery): OperatorRecords {
  const records = db.name('operator_records')
  const append = db.prepare<unknown, AddedColumns>(
    ({ kind, lists, times, values, keep }) => `
    WITH added AS (
      SELECT list, at::float8, value, place, row_number() OVER (PARTITION BY list ORDER BY place) AS number
      FROM unnest(${linesSql(lists)}, ${linesSql(times)}, ${linesSql(values)}) WITH ORDINALITY AS new (list, at, value, place)
      WHERE ${kind} <> 'log' OR list IN (SELECT task_id FROM ${db.name('tasks')} WHERE task_id = list AND phase <> 'expired')
    ),
    counted AS (
      SELECT list, count(*) AS size,
        coalesce((SELECT max(number) FROM ${records} WHERE kind = ${kind} AND list = added.list), 0) AS last
      FROM added GROUP BY list
    ),
    removed AS (
      DELETE FROM ${records} AS old USING counted
      WHERE old.kind = ${kind} AND old.list = counted.list AND old.number <= counted.last + counted.size - ${keep}
    )
    INSERT INTO ${records} (kind, list, number, at, value)
    SELECT ${kind}, list, last + number, at, value FROM added JOIN counted USING (list)
    WHERE number > size - ${keep} ORDER BY place`,
  )
  const read = db.prepare<RecordRow, { kind: string; after: number; limit: number; lists: string | null }>(
    ({ kind, after, limit, lists }) => `
    SELECT list, number::float8, at, value FROM (
      SELECT id, list, number, at, value FROM ${records}
      WHERE kind = ${kind} AND number > ${after} AND (${lists}::text IS NULL OR list = ANY (${linesSql(lists)}))
      ORDER BY id DESC LIMIT ${limit}
    ) AS newest ORDER BY id`,
  )
  const trim = db.prepare<unknown, { readonly kind: string; readonly before: number; readonly keep: number }>(
    ({ kind, before, keep }) => `
    DELETE FROM ${records} WHERE kind = ${kind} AND (at < ${before} OR id IN (
      SELECT id FROM ${records} WHERE kind = ${kind} ORDER BY id DESC OFFSET ${keep}))`,
  )

  return {
    append: (kind, added, keep) =>
      query(async () => {
        if (added.length === 0) return
        const each = <T>(read: (record: (typeof added)[number]) => T) => added.map(read)
        const columns = {
          kind,
          lists: lines(each(({ list }) => list)),
          times: each(({ at }) => at).join('\n'),
          values: lines(each((one) => one.value)),
          keep,
        }
        for (let attempt = 1; ; attempt++) {
          try {
            await append(columns)
            return
          } catch (error) {
            // Another replica has numbered a record of the same list just now. Nothing was stored.
            if (!isUniqueViolation(error) || attempt === maxAttempts) throw error
          }
        }
      }),

    read: (kind, { lists, after = 0, limit }) =>
      query(async () => {
        const rows = await read({ kind, after, limit, lists: lists ? lines(lists) : null })
        return rows.map(({ list, value, ...row }) => ({ ...row, list: decodeText(list), value: decodeText(value) }))
      }),

    trim: (kind, before, keep) =>
      query(async () => {
        await trim({ kind, before, keep })
      }),
  }
}

const nowSql = 'extract(epoch FROM clock_timestamp()) * 1000'

interface Name {
  readonly name: string
}

interface AddedColumns {
  readonly kind: string
  readonly lists: string
  readonly times: string
  readonly values: string
  readonly keep: number
}

interface RecordRow {
  readonly list: string
  readonly number: number
  readonly at: number
  readonly value: string
}
