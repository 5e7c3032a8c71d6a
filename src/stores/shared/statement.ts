/** A value that every driver can send. */
export type SqlValue = string | number | boolean | null

/** The values of a statement, by name. */
export type Values<V> = Readonly<Record<keyof V, SqlValue>>

/**
 * The text of a statement, as a function of the placeholders of its values. The names of the values are checked by their
 * type, in the text and in every call.
 * `prepare<Row, { readonly taskId: string }>(({ taskId }) => …)` has one value.
 */
export type StatementText<V> = (placeholders: { readonly [Name in keyof V]: string }) => string

/** Calls a prepared statement with its values. A statement without values takes none. */
export type Call<V, Result> = [keyof V] extends [never] ? () => Promise<Result> : (values: V) => Promise<Result>

/** A statement whose conditions depend on the request, with its values in the order of their placeholders. */
export interface Statement<Value = SqlValue> {
  readonly text: string
  readonly values: readonly Value[]
}

/** Collects the values of a `Statement`: adds one, and returns its placeholder. */
export type AddValue<Value = SqlValue> = (value: Value) => string

export function createValues<Value = SqlValue>(placeholder: (index: number) => string) {
  const values: Value[] = []
  const add: AddValue<Value> = (value) => placeholder(values.push(value))
  return { values, add }
}

/** A statement with numbered placeholders `$1`, `$2`, …, and the names of their values in this order. */
export interface NumberedText {
  readonly text: string
  readonly names: readonly string[]
}

export function numberPlaceholders<V>(text: StatementText<V>): NumberedText {
  const names: string[] = []
  const placeholders = new Proxy(Object.create(null), {
    get(_, name: string) {
      if (!names.includes(name)) names.push(name)
      return `$${names.indexOf(name) + 1}`
    },
  })
  return { text: text(placeholders), names }
}

/** The values of a call in the order of the placeholders. */
export function orderedValues(names: readonly string[], values: object | undefined): SqlValue[] {
  const members = (values ?? {}) as Readonly<Record<string, SqlValue>>
  return names.map((name) => members[name] as SqlValue)
}
