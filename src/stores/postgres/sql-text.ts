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
