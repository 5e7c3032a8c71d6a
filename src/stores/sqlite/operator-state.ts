import {
  maxValues,
  type OperatorRecord,
  type OperatorRecords,
  type OperatorState,
  type OperatorValues,
} from '../../core/base/operator-state.ts'
import type { SqliteDatabase, SqliteStatement } from './connection.ts'

export interface SqliteOperatorStateOptions {
  /** Runs a read. */
  readonly query: <T>(read: () => T) => Promise<T>
  /** Runs a write together with others. */
  readonly write: <T>(work: () => T) => Promise<T>
  readonly now: () => number
}

/** Prepares a statement, once. */
export type Prepare = (sql: string) => SqliteStatement

/** Statements are prepared when an operator needs them first. */
export function createPrepare(db: SqliteDatabase): Prepare {
  const prepared = new Map<string, SqliteStatement>()
  return (sql) => {
    const statement = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }
}

/** What operators share, in the file of a log or of a registry. */
export function createSqliteOperatorState(prepare: Prepare, options: SqliteOperatorStateOptions): OperatorState {
  return { values: createValues(prepare, options), records: createRecords(prepare, options) }
}

function createValues(prepare: Prepare, { query, write, now }: SqliteOperatorStateOptions): OperatorValues {
  return {
    get: (name) =>
      query(() => {
        const row = prepare('SELECT value FROM operator_values WHERE name = ? AND expires > ?').get(name, now())
        return (row as { readonly value: string } | undefined)?.value
      }),
    set: (name, value, expires) =>
      write(() => {
        prepare('INSERT OR REPLACE INTO operator_values (name, value, expires) VALUES (?, ?, ?)').run(
          name,
          value,
          expires,
        )
        prepare('DELETE FROM operator_values WHERE expires <= ?').run(now())
        prepare(`
          DELETE FROM operator_values WHERE name IN (
            SELECT name FROM operator_values ORDER BY expires DESC LIMIT -1 OFFSET ${maxValues})`).run()
      }),
    delete: (name) => write(() => void prepare('DELETE FROM operator_values WHERE name = ?').run(name)),
  }
}

function createRecords(prepare: Prepare, { query, write }: SqliteOperatorStateOptions): OperatorRecords {
  return {
    append: (kind, records, keep) =>
      write(() => {
        const last = prepare('SELECT max(number) AS number FROM operator_records WHERE kind = ? AND list = ?')
        const task = prepare("SELECT 1 FROM tasks WHERE task_id = ? AND phase <> 'expired'")
        const insert = prepare('INSERT INTO operator_records (kind, list, number, at, value) VALUES (?, ?, ?, ?, ?)')
        const remove = prepare('DELETE FROM operator_records WHERE kind = ? AND list = ? AND number <= ?')
        for (const { list, at, value } of records) {
          if (kind === 'log' && !task.get(list)) continue
          const number = ((last.get(kind, list) as { readonly number: number | null }).number ?? 0) + 1
          insert.run(kind, list, number, at, value)
          remove.run(kind, list, number - keep)
        }
      }),

    read: (kind, { lists, after = 0, limit }) =>
      query(() => {
        const inLists = lists ? 'AND list IN (SELECT value FROM json_each(?))' : ''
        const select = prepare(`
          SELECT list, number, at, value FROM (
            SELECT id, list, number, at, value FROM operator_records
            WHERE kind = ? ${inLists} AND number > ? ORDER BY id DESC LIMIT ?
          ) ORDER BY id`)
        const rows = select.all(kind, ...(lists ? [JSON.stringify(lists)] : []), after, limit)
        return rows as unknown as readonly OperatorRecord[]
      }),

    trim: (kind, before, keep) =>
      write(() => {
        prepare('DELETE FROM operator_records WHERE kind = ? AND at < ?').run(kind, before)
        prepare(`
          DELETE FROM operator_records WHERE id IN (
            SELECT id FROM operator_records WHERE kind = ? ORDER BY id DESC LIMIT -1 OFFSET ?)`).run(kind, keep)
      }),
  }
}
