import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { a2a, aliasBase, base, meshFiles } from './files.ts'
import { faultOf } from './i-json.ts'

export type SchemaVersion = '1.0.0' | '1.1.0'

export interface ValidatorOptions {
  /** Defaults to the newest version. */
  readonly version?: SchemaVersion
  /** Requires a signature. The validator does not verify it. */
  readonly authenticated?: boolean
  /** Also accepts ids and nonces of old traffic, which have letters beyond f. */
  readonly lenientIds?: boolean
}

const optionNames: readonly string[] = ['version', 'authenticated', 'lenientIds'] satisfies (keyof ValidatorOptions)[]

export interface Verdict {
  readonly valid: boolean
  /** For people: the path of each violation and what was expected there. */
  readonly errors: readonly string[]
}

/** Validates messages against the schemas of one version, which it compiles once. */
export class SchemaValidator {
  readonly #types = new Map<unknown, ValidateFunction>()
  readonly #signed: ValidateFunction | undefined

  constructor(options: ValidatorOptions = {}) {
    if (typeof options !== 'object')
      throw new TypeError(
        `expected options such as { version: '1.1.0' }, got ${JSON.stringify(options)}: the validator contains its schemas and reads no directory`,
      )
    const unknown = Object.keys(options).filter((name) => !optionNames.includes(name))
    if (unknown.length > 0) {
      throw new TypeError(`There is no option ${unknown.join(', ')}: there are ${optionNames.join(', ')}.`)
    }
    const { version = '1.1.0', authenticated = false, lenientIds = false } = options
    const files = meshFiles[version]
    if (files === undefined) throw new TypeError(`There is no version ${version}: there are 1.0.0 and 1.1.0.`)
    const ajv = createAjv()
    for (const schema of files) ajv.addSchema(lenientIds ? withLenientIds(schema) : schema)
    for (const { $id } of files) {
      const type = /([a-z-]+)-message\.json$/.exec($id)?.[1]?.replaceAll('-', '_')
      const validate = ajv.getSchema($id)
      if (validate && type !== 'base' && type !== 'authenticated') this.#types.set(type, validate)
    }
    if (authenticated) this.#signed = ajv.getSchema(`${base}/v${version}/authenticated-message.json`)
  }

  validate(message: unknown): Verdict {
    const fault = faultOf(message)
    if (fault !== undefined) return invalid([fault])
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      return invalid(['expected an object'])
    }
    const type = Object.hasOwn(message, 'message_type')
      ? (message as { message_type: unknown }).message_type
      : undefined
    const validate = this.#types.get(type)
    if (!validate) {
      return invalid([`Unknown message_type: ${type}`])
    }
    if (!validate(message)) return invalid(texts(validate.errors))
    if (this.#signed && !this.#signed(message)) return invalid(texts(this.#signed.errors))
    return { valid: true, errors: [] }
  }
}

export function createSchemaValidator(options?: ValidatorOptions): SchemaValidator {
  return new SchemaValidator(options)
}

const newest = lazily(() => createSchemaValidator())

/** Validates a message against the newest version. */
export function validate(message: unknown): Verdict {
  return newest().validate(message)
}

const a2aAjv = lazily(() => createAjv().addSchema(a2a))

/** Validates an object of A2A 1.0, such as a `Task` or an `AgentCard`. */
export function validateA2A(name: string, value: unknown): Verdict {
  const fault = faultOf(value)
  if (fault !== undefined) return invalid([fault])
  const check = a2aAjv().getSchema(`${a2a.$id}#/definitions/${name}`)
  if (!check) throw new TypeError(`A2A 1.0 has no object ${name}.`)
  return check(value) ? { valid: true, errors: [] } : invalid(texts(check.errors))
}

/**
 * A schema by its `$id`. The ids of the first description of the mesh work too: they have another domain, and name
 * version 1.0.0 where they name none.
 */
export function schemaById(id: string): object | undefined {
  const own = id.replace(aliasBase, base).replace(/\/schemas\/([a-z-]+\.json)$/, '/schemas/v1.0.0/$1')
  return [...meshFiles['1.0.0'], ...meshFiles['1.1.0'], a2a].find(({ $id }) => $id === own)
}

function createAjv(): Ajv {
  // Patterns define all formats, so that every language reads them alike.
  return new Ajv({ strict: true, allErrors: true, validateFormats: false, allowUnionTypes: true })
}

/** The patterns of ids and nonces in old traffic. */
const lenientPatterns = { MessageId: '^[0-9a-z-]{36}$(?!\\n)', Nonce: '^[0-9a-z]{32,36}$(?!\\n)' }

function withLenientIds(schema: object): object {
  const definitions: Record<string, object> = { ...('definitions' in schema && (schema.definitions as object)) }
  for (const [name, pattern] of Object.entries(lenientPatterns)) {
    if (name in definitions) definitions[name] = { ...definitions[name], pattern }
  }
  return { ...schema, definitions }
}

function invalid(errors: readonly string[]): Verdict {
  return { valid: false, errors }
}

/** As AJV words them, with the name of a member that is unknown. */
function texts(errors: readonly ErrorObject[] | null | undefined): readonly string[] {
  const all = (errors ?? []).map(({ instancePath, message, params }) => {
    const unknown = 'additionalProperty' in params ? `: ${params.additionalProperty}` : ''
    return `${instancePath}: ${message}${unknown}`
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
