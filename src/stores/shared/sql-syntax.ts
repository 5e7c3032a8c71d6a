/** Columns of a row, each with the SQL of its value. */
export type RowSql = Readonly<Record<string, string>>

/** What databases on servers write differently. */
export interface SqlSyntax {
  /** Encodes a text of a column with an index. Throws if it is too long. */
  readonly encodeId: (text: string) => string
  /** The same for a text that is only compared, and never too long. */
  readonly encodeKey: (text: string) => string
  /** Quotes the name of a column that is a word of SQL. */
  readonly quote: (name: string) => string
  /** A placeholder for a number with a fraction. */
  readonly double: (placeholder: string) => string
  /** The time of the database in milliseconds since 1970. */
  readonly clock: string
  /** The time of the database, as columns of times hold it, and the one that is some milliseconds later. */
  readonly now: string
  readonly after: (milliseconds: string) => string
  /** A time in milliseconds since 1970, as columns of times hold it. */
  readonly timeOf: (milliseconds: string) => string
  /** Encodes encoded texts as one value, so that their number does not change the statement. */
  readonly encodeList: (texts: readonly string[]) => string
  /** Conditions on a column and the placeholder of such a value. */
  readonly isOneOf: (column: string, list: string) => string
  readonly startsWithOneOf: (column: string, list: string) => string
  /** Removes the rows with one of the texts of such a value in a column. */
  readonly deleteListed: (table: string, column: string, list: string) => string
  /** Removes rows that match a condition, up to a limit. */
  readonly deleteSome: (table: string, key: string, condition: string, limit: string) => string
  /** Inserts a row, unless there is one with its key. */
  readonly insertNew: (table: string, row: RowSql) => string
  /** Inserts a row, or replaces the one with its key. */
  readonly upsert: (table: string, key: string, row: RowSql) => string
}
