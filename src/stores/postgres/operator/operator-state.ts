import {
  maxValues,
  type OperatorRecords,
  type OperatorState,
  type OperatorValues,
} from '../../../core/base/operator-state.ts'
import { type Database, isUniqueViolation } from '../connection.ts'
import { decodeText, encodeText, lines } from '../sql-text.ts'

/** Attempts to append, if other replicas append to the same lists at the same moment. */
const maxAttempts = 10

export type RunQuery = <T>(run: () => Promise<T>) => Promise<T>

/** What operators share, in the schema of a log or of a registry. */
export function createPostgresOperatorState(db: Database, query: RunQuery): OperatorState {
  return { values: createValues(db, query), records: createRecords(db, query) }
}

function createValues(db: Database, query: RunQuery): OperatorValues {
  const values = db.name('operator_values')
  return {
    get: (name) =>
      query(async () => {
        const read = db.prepare<{ readonly value: string }>(
          `SELECT value FROM ${values} WHERE name = $1 AND expires > ${nowSql}`,
        )
        const [row] = await read(encodeText(name))
        return row && decodeText(row.value)
      }),
    set: (name, value, expires) =>
      query(async () => {
        await db.prepare(`
          INSERT INTO ${values} (name, value, expires) VALUES ($1, $2, $3)
          ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires = excluded.expires`)(
          encodeText(name),
          encodeText(value),
          expires,
        )
        await db.prepare(`
          DELETE FROM ${values} WHERE expires <= ${nowSql} OR name IN (
            SELECT name FROM ${values} ORDER BY expires DESC OFFSET ${maxValues})`)()
      }),
    delete: (name) =>
      query(async () => void (await db.prepare(`DELETE FROM ${values} WHERE name = $1`)(encodeText(name)))),
  }
}

function createRecords(db: Database, query: RunQuery): OperatorRecords {
  const records = db.name('operator_records')
  const split = (parameter: string) => `string_to_array(${parameter}, E'\\n')`
  const appendSql = `
    WITH added AS (
      SELECT list, at::float8, value, place, row_number() OVER (PARTITION BY list ORDER BY place) AS number
      FROM unnest(${split('$2')}, ${split('$3')}, ${split('$4')}) WITH ORDINALITY AS new (list, at, value, place)
      WHERE $1 <> 'log' OR list IN (SELECT task_id FROM ${db.name('tasks')} WHERE task_id = list AND phase <> 'expired')
    ),
    counted AS (
      SELECT list, count(*) AS size,
        coalesce((SELECT max(number) FROM ${records} WHERE kind = $1 AND list = added.list), 0) AS last
      FROM added GROUP BY list
    ),
    removed AS (
      DELETE FROM ${records} AS old USING counted
      WHERE old.kind = $1 AND old.list = counted.list AND old.number <= counted.last + counted.size - $5
    )
    INSERT INTO ${records} (kind, list, number, at, value)
    SELECT $1, list, last + number, at, value FROM added JOIN counted USING (list)
    WHERE number > size - $5 ORDER BY place`

  return {
    append: (kind, added, keep) =>
      query(async () => {
        if (added.length === 0) return
        const each = <T>(read: (record: (typeof added)[number]) => T) => added.map(read)
        const values = [
          lines(each(({ list }) => list)),
          each(({ at }) => at).join('\n'),
          lines(each((one) => one.value)),
        ]
        for (let attempt = 1; ; attempt++) {
          try {
            await db.prepare(appendSql)(kind, ...values, keep)
            return
          } catch (error) {
            // Another replica has numbered a record of the same list just now. Nothing was stored.
            if (!isUniqueViolation(error) || attempt === maxAttempts) throw error
          }
        }
      }),

    read: (kind, { lists, after = 0, limit }) =>
      query(async () => {
        const read = db.prepare<RecordRow>(`
          SELECT list, number::float8, at, value FROM (
            SELECT id, list, number, at, value FROM ${records}
            WHERE kind = $1 AND number > $2 AND ($4::text IS NULL OR list = ANY (${split('$4')}))
            ORDER BY id DESC LIMIT $3
          ) AS newest ORDER BY id`)
        const rows = await read(kind, after, limit, lists ? lines(lists) : null)
        return rows.map(({ list, value, ...row }) => ({ ...row, list: decodeText(list), value: decodeText(value) }))
      }),

    trim: (kind, before, keep) =>
      query(async () => {
        await db.prepare(`
          DELETE FROM ${records} WHERE kind = $1 AND (at < $2 OR id IN (
            SELECT id FROM ${records} WHERE kind = $1 ORDER BY id DESC OFFSET $3))`)(kind, before, keep)
      }),
  }
}

const nowSql = 'extract(epoch FROM clock_timestamp()) * 1000'

interface RecordRow {
  readonly list: string
  readonly number: number
  readonly at: number
  readonly value: string
}
