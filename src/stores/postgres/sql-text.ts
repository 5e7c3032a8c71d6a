import type { RowSql, SqlSyntax } from '../shared/sql-syntax.ts'
import { encodeText } from '../shared/sql-text.ts'

/** Encodes texts as the lines of one value; an empty line is NULL. */
export function lines(texts: readonly (string | undefined)[]): string {
  return texts.map((text) => (text === undefined ? '' : encodeText(text))).join('\n')
}

/** SQL for the texts that `lines` has encoded as one value. An empty line is an empty text, or NULL if `isNullable`. */
export function linesSql(placeholder: string, isNullable = false): string {
  return `string_to_array(${placeholder}, E'\\n'${isNullable ? ", ''" : ''})`
}

/** Encodes values without commas, quotes or braces as a PostgreSQL array. */
export function array(values: readonly (string | number | boolean | null | undefined)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`
}

export const postgresSyntax: SqlSyntax = {
  encodeId: encodeText,
  encodeKey: encodeText,
  quote: (name) => `"${name}"`,
  double: (placeholder) => `${placeholder}::float8`,
  clock: '(extract(epoch FROM clock_timestamp()) * 1000)::float8',
  now: 'clock_timestamp()',
  after: (milliseconds) => `clock_timestamp() + ${milliseconds}::float8 * interval '1 millisecond'`,
  timeOf: (milliseconds) => `to_timestamp(${milliseconds}::float8 / 1000)`,
  encodeList: (texts) => texts.join('\n'),
  isOneOf: (column, list) => `${column} = ANY (${linesSql(list)})`,
  startsWithOneOf: (column, list) =>
    `EXISTS (SELECT FROM unnest(${linesSql(list)}) AS start WHERE starts_with(${column}, start))`,
  deleteListed: (table, column, list) => `DELETE FROM ${table} WHERE ${column} = ANY (${linesSql(list)})`,
  deleteSome: (table, key, condition, limit) => `
    DELETE FROM ${table} WHERE ${key} IN (
      SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  insertNew: (table, row) => `${insertSql(table, row)} ON CONFLICT DO NOTHING`,
  upsert(table, key, row) {
    const updates = Object.keys(row).map((name) => `"${name}" = excluded."${name}"`)
    return `${insertSql(table, row)} ON CONFLICT (${key}) DO UPDATE SET ${updates.join(', ')}`
  },
}

function insertSql(table: string, row: RowSql): string {
  const names = Object.keys(row).map((name) => `"${name}"`)
  return `INSERT INTO ${table} (${names.join(', ')}) VALUES (${Object.values(row).join(', ')})`
}
