import type { StandardSchemaV1 } from '@standard-schema/spec'

/** What `Compile(…)` of `typebox/compile` gives, as far as it is needed. */
export interface TypeBoxValidator<T> {
  Check(value: unknown): value is T
  Errors(value: unknown): readonly { readonly message: string; readonly instancePath: string }[]
  /** The schema that was compiled. */
  Type(): object
}

/** A schema of TypeBox as one of Standard Schema, which it is not by itself. It is its own JSON Schema, too. */
export function typeBoxSchema<T>(validator: TypeBoxValidator<T>): StandardSchemaV1<T> {
  return {
    ...validator.Type(),
    '~standard': {
      version: 1,
      vendor: 'typebox',
      validate: (value) =>
        validator.Check(value)
          ? { value }
          : {
              issues: validator
                .Errors(value)
                .map(({ message, instancePath }) => ({ message, path: pathOf(instancePath) })),
            },
    },
  }
}

/** Of a JSON Pointer (RFC 6901). */
function pathOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
