import type { SqliteDatabase, SqliteStatement, SqliteValue } from '../sqlite/connection.ts'
import { migrations } from '../sqlite/migrations.ts'

/** The part of the storage of a Durable Object that the log uses. The object must have the SQLite storage. */
export interface ObjectStorage {
  readonly sql: { readonly databaseSize: number; exec(query: string, ...values: SqliteValue[]): ObjectRows }
  transactionSync<T>(work: () => T): T
}

type Row = Record<string, unknown>

interface ObjectRows extends Iterable<Row> {
  toArray(): Row[]
}

/** Maximum length of a stored text, in UTF-16 units of at most 3 bytes: the platform limits values to 2 MB. */
const partLength = 600_000

/** Starts the value that stands for a longer one: a JSON text, as the longer one is. Its last character is the quote. */
const longMark = '"parts:'

/**
 * The database of a Durable Object, as the SQLite stores see it. Texts that are longer than a row may be are stored in parts.
 * What the platform decides for itself, such as synchronous writes, has no statement there.
 */
export function openObjectDatabase(storage: ObjectStorage): SqliteDatabase {
  const { sql } = storage
  const db: SqliteDatabase = {
    exec(text) {
      if (!text.startsWith('PRAGMA')) sql.exec(text).toArray()
    },
    prepare: (text) => prepare(text),
    close() {},
  }

  function prepare(text: string): SqliteStatement {
    const execute = (values: readonly SqliteValue[]) => sql.exec(text, ...values.map(shorten))
    return {
      run(...values) {
        execute(values).toArray()
        const [counts] = sql.exec('SELECT changes() AS changes, last_insert_rowid() AS lastInsertRowid').toArray()
        return counts as unknown as ReturnType<SqliteStatement['run']>
      },
      get: (...values) => execute(values).toArray().map(restore)[0],
      all: (...values) => execute(values).toArray().map(restore),
      *iterate(...values) {
        for (const row of execute(values)) yield restore(row)
      },
    }
  }

  function shorten(value: SqliteValue): SqliteValue {
    if (typeof value !== 'string' || value.length <= partLength) return value
    const id = crypto.randomUUID()
    for (let start = 0, part = 0; start < value.length; part++) {
      let end = start + partLength
      // A pair of surrogates stays together.
      if (isHighSurrogate(value.charCodeAt(end - 1))) end--
      sql.exec('INSERT INTO long_values (id, part, text) VALUES (?, ?, ?)', id, part, value.slice(start, end)).toArray()
      start = end
    }
    return `${longMark}${id}"`
  }

  function restore(row: Row): Row {
    for (const [name, value] of Object.entries(row)) {
      if (typeof value !== 'string' || !value.startsWith(longMark)) continue
      const id = value.slice(longMark.length, -1)
      const parts = sql.exec('SELECT text FROM long_values WHERE id = ? ORDER BY part', id).toArray()
      if (parts.length > 0) row[name] = parts.map(({ text }) => text).join('')
    }
    return row
  }

  storage.transactionSync(() => migrate(db))
  return db
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00
}

/** The migrations of SQLite files, with the number of the format in a table: the platform has no `user_version`. */
function migrate(db: SqliteDatabase): void {
  db.exec('CREATE TABLE IF NOT EXISTS format (version INTEGER NOT NULL) STRICT')
  const { version = 0 } = (db.prepare('SELECT version FROM format').get() ?? {}) as { readonly version?: number }
  const newest = migrations.length
  if (version > newest) {
    throw new Error(
      `The Durable Object has format ${version} of a newer parley-a2a, and this one knows formats up to ${newest}. ` +
        'Deploy the newer version again.',
    )
  }
  if (version === 0) db.exec(longValues)
  for (const migration of migrations.slice(version)) db.exec(migration)
  if (version === 0) db.exec(`${removalOfParts} INSERT INTO format VALUES (${newest})`)
  else if (version < newest) db.exec(`UPDATE format SET version = ${newest}`)
}

const longValues = `
  CREATE TABLE long_values (
    id TEXT NOT NULL,
    part INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (id, part)
  ) STRICT, WITHOUT ROWID;`

/** The parts of a text go with the row that has it. */
const removalOfParts = [
  ['events', 'events'],
  ['snapshots', 'snapshot'],
  ['webhooks', 'webhook'],
  ['operator_records', 'value'],
]
  .flatMap(([table, column]) =>
    [`DELETE ON ${table}`, `UPDATE OF ${column} ON ${table}`].map(
      (change, index) => `
  CREATE TRIGGER long_${table}_${index} AFTER ${change} WHEN old.${column} LIKE '${longMark}%' BEGIN
    DELETE FROM long_values WHERE id = substr(old.${column}, ${longMark.length + 1}, 36);
  END;`,
    ),
  )
  .join('')
