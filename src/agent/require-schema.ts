import type { StandardSchemaV1 } from '@standard-schema/spec'

/** Throws unless it is a schema of the standard: otherwise the first value to be checked would find out. */
export function requireSchema(where: string, schema: StandardSchemaV1): void {
  const standard: unknown =
    typeof schema === 'object' || typeof schema === 'function' ? schema?.['~standard'] : undefined
  const validate = typeof standard === 'object' && standard && 'validate' in standard ? standard.validate : undefined
  if (typeof validate === 'function') return
  throw new TypeError(
    `${where}: expected a schema of Standard Schema, as zod, valibot and arktype have them. One of TypeBox becomes one by typeBoxSchema(Compile(…)).`,
  )
}
