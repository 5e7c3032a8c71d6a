import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { a2a, aliasBase, base, meshFiles } from './files.ts'
import { faultOf } from './i-json.ts'

export type SchemaVersion = '1.0.0' | '1.1.0'

export interface ValidatorOptions {
  /** The newest one unless it is given. */
  readonly version?: SchemaVersion
  /** Rejects unsigned messages. It does not verify the signature. */
  readonly authenticated?: boolean
}

export interface Verdict {
  readonly valid: boolean
  /** Violations in readable form: the path, and what was expected there. */
  readonly errors: readonly string[]
}

export interface SchemaValidator {
  validate(message: unknown): Verdict
}

/** Compiles the schemas of one version, once. */
export function createSchemaValidator({
  version = '1.1.0',
  authenticated = false,
}: ValidatorOptions = {}): SchemaValidator {
  const files = meshFiles[version]
  if (files === undefined) throw new TypeError(`There is no version ${version}: there are 1.0.0 and 1.1.0.`)
  const ajv = createAjv()
  const types = new Map<unknown, ValidateFunction>()
  for (const schema of files) ajv.addSchema(schema)
  for (const { $id } of files) {
    const type = /([a-z-]+)-message\.json$/.exec($id)?.[1]?.replaceAll('-', '_')
    const validate = ajv.getSchema($id)
    if (validate && type !== 'base' && type !== 'authenticated') types.set(type, validate)
  }
  const signed = ajv.getSchema(`${base}/v${version}/authenticated-message.json`)
  const known = [...types.keys()].join(', ')
  return {
    validate(message) {
      const fault = faultOf(message)
      if (fault !== undefined) return invalid([fault])
      if (typeof message !== 'object' || message === null || Array.isArray(message)) {
        return invalid(['expected an object'])
      }
      const type = Object.hasOwn(message, 'message_type')
        ? (message as { message_type: unknown }).message_type
        : undefined
      const validate = types.get(type)
      if (!validate) return invalid([`message_type: version ${version} has only ${known}`])
      if (!validate(message)) return invalid(texts(validate.errors))
      if (authenticated && signed && !signed(message)) return invalid(texts(signed.errors))
      return { valid: true, errors: [] }
    },
  }
}

const newest = lazily(() => createSchemaValidator())

/** Holds a message against the newest version. */
export function validate(message: unknown): Verdict {
  return newest().validate(message)
}

const a2aAjv = lazily(() => createAjv().addSchema(a2a))

/** Holds an object of A2A 1.0, such as a `Task` or an `AgentCard`, against its schema. */
export function validateA2A(name: string, value: unknown): Verdict {
  const fault = faultOf(value)
  if (fault !== undefined) return invalid([fault])
  const check = a2aAjv().getSchema(`${a2a.$id}#/definitions/${name}`)
  if (!check) throw new TypeError(`A2A 1.0 has no object ${name}.`)
  return check(value) ? { valid: true, errors: [] } : invalid(texts(check.errors))
}

/** A schema by its `$id`, or by the one that the first description of the mesh gave it. */
export function schemaById(id: string): object | undefined {
  const own = id.replace(aliasBase, base)
  return [...meshFiles['1.0.0'], ...meshFiles['1.1.0'], a2a].find(({ $id }) => $id === own)
}

function createAjv(): Ajv {
  // Formats are for readers: patterns say the same in every language.
  return new Ajv({ strict: true, allErrors: true, validateFormats: false, allowUnionTypes: true })
}

function invalid(errors: readonly string[]): Verdict {
  return { valid: false, errors }
}

function texts(errors: readonly ErrorObject[] | null | undefined): readonly string[] {
  const all = (errors ?? []).map(({ instancePath, message, params }) => {
    const place = instancePath.slice(1).replaceAll('/', '.') || 'message'
    const stranger = 'additionalProperty' in params ? `: ${params.additionalProperty}` : ''
    return `${place}: ${message}${stranger}`
  })
  return [...new Set(all)]
}

function lazily<T>(create: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= create()
    return made
  }
}
