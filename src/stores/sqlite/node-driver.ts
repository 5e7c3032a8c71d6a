import type { SqliteDatabase, SqliteDriver, SqliteValue } from './connection.ts'

/** The SQLite that comes with Node. Loaded on demand, because a runtime with another driver may not have it. */
export const nodeDriver: SqliteDriver = (file) => {
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (!sqlite) throw new Error('this Node has no node:sqlite. Use Node 22.13 or newer, or pass a driver')
  cutsTexts ??= cutsTextsOf(new sqlite.DatabaseSync(':memory:'))
  const db: SqliteDatabase = new sqlite.DatabaseSync(file)
  return cutsTexts ? withEscapedTexts(db) : db
}

/** Whether the driver returns texts only up to their first U+0000, as `node:sqlite` of older Nodes does. */
let cutsTexts: boolean | undefined

function cutsTextsOf(db: SqliteDatabase): boolean {
  const { text } = db.prepare('SELECT char(97, 0, 98) AS text').get() as { readonly text: string }
  db.close()
  return text.length === 1
}

/**
 * Stores texts without U+0000, so that a driver that cuts them there returns them unchanged. Ids, owners and search terms
 * come from callers and may contain any character; texts in JSON contain no control characters.
 *
 * U+0000 becomes U+0001 `a`, and U+0001 becomes U+0001 `b`, which keeps the order of texts and their prefixes.
 */
function withEscapedTexts(db: SqliteDatabase): SqliteDatabase {
  return {
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
    prepare(sql) {
      const statement = db.prepare(sql)
      return {
        run: (...values) => statement.run(...values.map(escapeText)),
        get: (...values) => unescapeRow(statement.get(...values.map(escapeText))),
        all: (...values) => statement.all(...values.map(escapeText)).map(unescapeRow),
        *iterate(...values) {
          for (const row of statement.iterate(...values.map(escapeText))) yield unescapeRow(row)
        },
      }
    },
  }
}

const escapeText = (value: SqliteValue): SqliteValue =>
  typeof value === 'string' && (value.includes('\0') || value.includes('\u0001'))
    ? value.replaceAll('\u0001', '\u0001b').replaceAll('\0', '\u0001a')
    : value

function unescapeRow(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return row
  const columns = row as Record<string, unknown>
  for (const [name, value] of Object.entries(columns)) {
    if (typeof value !== 'string' || !value.includes('\u0001')) continue
    columns[name] = value.replaceAll('\u0001a', '\0').replaceAll('\u0001b', '\u0001')
  }
  return row
}
