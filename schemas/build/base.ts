/** The address under which everything here is published. It never changes. */
export const base = 'https://parley.dev/schemas'

export type Schema = Readonly<Record<string, unknown>>

export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
