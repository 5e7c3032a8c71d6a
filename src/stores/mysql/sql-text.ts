import { createHash } from 'node:crypto'
import { A2AError } from '../../core/protocol/errors.ts'
import type { RowSql, SqlSyntax } from '../shared/sql-syntax.ts'
import { encodeText } from '../shared/sql-text.ts'

/** The longest text of a column with an index, in characters: InnoDB indexes at most 3,072 bytes. */
const maxLength = 255

/** Column type of texts that are compared byte by byte. */
const indexed = `VARCHAR(${maxLength}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

/** Types of the columns of values that are passed as rows. */
export const types = {
  id: indexed,
  text: 'LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
  int: 'INT',
  long: 'BIGINT',
  double: 'DOUBLE',
  bool: 'BOOLEAN',
}

/** SQL for rows that were passed as one value, as `rowsOf` encodes them, with the number of each row in `at`. */
export function rowsSql(placeholder: string, columns: Readonly<Record<string, keyof typeof types>>): string {
  const listed = Object.entries(columns).map(([name, type]) => `${name} ${types[type]} PATH '$.${name}'`)
  return `JSON_TABLE(${placeholder}, '$[*]' COLUMNS (at FOR ORDINALITY, ${listed.join(', ')}))`
}

/** Encodes rows as one value, so that their number does not change the statement. Undefined members are NULL. */
export function rowsOf<T>(
  items: readonly T[],
  rowOf: (item: T, index: number) => Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify(items.map(rowOf))
}

/** SQL for the time of the database in milliseconds since 1970, whatever the time zone of the connection. */
export const clockSql = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1000)"

/** Encodes an id. Comparisons ignore spaces at the end, so the last one is escaped. */
export function encodeId(text: string): string {
  const encoded = encodePadded(text)
  if (encoded.length <= maxLength) return encoded
  const message = `An id of ${text.length} characters is too long for a MySQL store; it can have ${maxLength}.`
  throw new A2AError('invalid-params', message)
}

/** Encodes a key that is never read back: the hash of a long one takes its place. */
export function encodeKey(text: string): string {
  const encoded = encodePadded(text)
  if (encoded.length <= maxLength) return encoded
  return `\\h${createHash('sha256').update(encoded).digest('hex')}`
}

function encodePadded(text: string): string {
  return encodeText(text).replace(/ $/, '\\0020')
}

export const mysqlSyntax: SqlSyntax = {
  encodeId,
  encodeKey,
  quote: (name) => `\`${name}\``,
  double: (placeholder) => placeholder,
  clock: clockSql,
  now: clockSql,
  after: (milliseconds) => `${clockSql} + ${milliseconds}`,
  timeOf: (milliseconds) => milliseconds,
  encodeList: (texts) => rowsOf(texts, (text) => ({ text })),
  isOneOf: (column, list) => `${column} IN (SELECT text FROM ${textsSql(list)} AS one)`,
  startsWithOneOf: (column, list) =>
    `EXISTS (SELECT 1 FROM ${textsSql(list)} AS start WHERE LEFT(${column}, CHAR_LENGTH(start.text)) = start.text)`,
  deleteListed: (table, column, list) => `
    DELETE gone FROM ${textsSql(list)} AS old STRAIGHT_JOIN ${table} AS gone ON gone.${column} = old.text`,
  deleteSome: (table, _, condition, limit) => `DELETE FROM ${table} WHERE ${condition} LIMIT ${limit}`,
  insertNew: (table, row) => `INSERT IGNORE INTO ${valuesSql(table, row)}`,
  upsert(table, _, row) {
    const updates = Object.keys(row).map((name) => `\`${name}\` = VALUES(\`${name}\`)`)
    return `INSERT INTO ${valuesSql(table, row)} ON DUPLICATE KEY UPDATE ${updates.join(', ')}`
  },
}

/** SQL for the texts of `SqlSyntax.encodeList`. */
function textsSql(list: string): string {
  return rowsSql(list, { text: 'id' })
}

function valuesSql(table: string, row: RowSql): string {
  const names = Object.keys(row).map((name) => `\`${name}\``)
  return `${table} (${names.join(', ')}) VALUES (${Object.values(row).join(', ')})`
}
