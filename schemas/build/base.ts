import { isObject } from '../../src/core/base/json.ts'

/** The base URL of all published schemas. It never changes. */
export const base = 'https://parley.dev/schemas'

export type Schema = Readonly<Record<string, unknown>>

export const isSchema = (value: unknown): value is Schema => isObject(value)
