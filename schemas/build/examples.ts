import { jsonSchemaOf } from '../../src/core/schema/json-schema.ts'
import { object } from '../../src/core/schema/values.ts'
import { baseMembers, type MessageType, membersByType, messageTypes } from '../../src/mesh/envelope.ts'
import type { SchemaVersion } from '../../src/mesh/payloads.ts'
import { isSchema, type Schema } from './base.ts'
import { signature, specimens } from './specimens.ts'

export interface Example {
  /** What distinguishes the example. */
  readonly title: string
  /** The versions in which it is valid. */
  readonly valid: readonly SchemaVersion[]
  readonly message: unknown
}

/** Every specimen with every small change that a rule of its schema allows or forbids, by file name. */
export function generatedExamples(): ReadonlyMap<string, readonly Example[]> {
  return new Map(messageTypes.map((type) => [`generated/${type.replaceAll('_', '-')}.json`, examplesOf(type)]))
}

function examplesOf(type: MessageType): readonly Example[] {
  const isNew = type === 'handshake_ack' || type === 'goodbye'
  const versions: readonly SchemaVersion[] = isNew ? ['1.1.0'] : ['1.0.0', '1.1.0']
  const message = { ...specimens[type], auth: { ...signature, agent_id: specimens[type].sender_id } }
  const schema = jsonSchemaOf(object({ ...baseMembers(), ...membersByType({ version: '1.1.0' })[type] }))
  const unsigned = {
    title: `${type}, unsigned`,
    valid: type === 'handshake_ack' ? ['1.1.0'] : versions,
    message: specimens[type],
  }
  const changes = [...changesOf(schema, message, '')].map(({ title, value, verdict }) => ({
    title: `${type}: ${title}`,
    valid: verdict === 'valid' ? versions : verdict === 'open' ? (['1.0.0'] as const) : [],
    message: value,
  }))
  return [{ title: `${type}, signed`, valid: versions, message }, unsigned as Example, ...changes]
}

interface Change {
  readonly title: string
  readonly value: unknown
  /** `open`: version 1.0.0 allows unknown members. */
  readonly verdict: 'valid' | 'invalid' | 'open'
}

const open = ['DiscoverFilters', 'AgentInfo']
const wrongTypes: Readonly<Record<string, readonly unknown[]>> = {
  string: [7, true, null, [], {}],
  integer: ['1', 1.5, true, null, []],
  number: ['1', false, null, {}],
  boolean: ['true', 1, null],
  array: ['a', {}, null],
  object: ['a', [], 7, null],
  null: ['', 0, false],
}

function* changesOf(schema: Schema, value: unknown, path: string): Generator<Change> {
  const at = path === '' ? 'the envelope' : path
  const invalid = (what: string, changed: unknown): Change => ({
    title: `${at} ${what}`,
    value: changed,
    verdict: 'invalid',
  })
  const valid = (what: string, changed: unknown): Change => ({
    title: `${at} ${what}`,
    value: changed,
    verdict: 'valid',
  })
  const option = optionFor(schema, value)
  for (const wrong of wrongTypes[String(option.type)] ?? []) yield invalid(`is ${JSON.stringify(wrong)}`, wrong)
  if (option.const !== undefined || option.enum !== undefined) {
    yield invalid('is an unknown value', 'nonsense')
    yield invalid('is in capitals', String(value).toUpperCase())
  } else if (option.type === 'string') yield* textChanges(option, String(value), { valid, invalid })
  else if (option.type === 'integer' || option.type === 'number') yield* numberChanges(option, { valid, invalid })
  else if (Array.isArray(value)) yield* listChanges(option, value, path, { valid, invalid })
  else if (isSchema(value)) yield* objectChanges(option, value, path, { valid, invalid })
}

interface Verdicts {
  valid(what: string, changed: unknown): Change
  invalid(what: string, changed: unknown): Change
}

function* textChanges(schema: Schema, value: string, { valid, invalid }: Verdicts): Generator<Change> {
  const { pattern, minLength, maxLength } = schema
  if (typeof minLength === 'number') yield invalid('is empty', '')
  if (typeof maxLength === 'number') yield invalid('is one character too long', 'x'.repeat(maxLength + 1))
  if (pattern === undefined) {
    if (typeof maxLength === 'number')
      yield valid('has the maximum length, in characters of two UTF-16 units', '😀'.repeat(maxLength))
    yield invalid('has a lone surrogate', `${value}\ud83d`)
    yield valid('has a line break', `${value}\n`)
    return
  }
  yield invalid('has a line break at its end', `${value}\n`)
  yield invalid('has a space before it', ` ${value}`)
  yield invalid('has a null character', `${value}\0`)
  yield invalid('has an arabic digit', `${value}٣`)
}

function* numberChanges({ minimum, maximum }: Schema, { valid, invalid }: Verdicts): Generator<Change> {
  if (typeof minimum === 'number') {
    yield valid('is the minimum', minimum)
    yield invalid('is below the minimum', minimum - 1)
  }
  if (typeof maximum !== 'number') return
  yield valid('is the maximum', maximum)
  yield invalid('is above the maximum', maximum + 1)
}

function* listChanges(
  { items, minItems, maxItems }: Schema,
  value: readonly unknown[],
  path: string,
  { valid, invalid }: Verdicts,
): Generator<Change> {
  const [first] = value
  if (minItems === undefined) yield valid('is empty', [])
  else yield invalid('is empty', [])
  if (typeof maxItems === 'number') {
    yield valid('has the maximum length', Array(maxItems).fill(first))
    yield invalid('has an item too many', Array(maxItems + 1).fill(first))
  }
  for (const change of changesOf(items as Schema, first, `${path}[0]`)) yield { ...change, value: [change.value] }
}

function* objectChanges(schema: Schema, value: Schema, path: string, { valid, invalid }: Verdicts): Generator<Change> {
  const { properties, required = [], title } = schema
  if (!isSchema(properties)) {
    yield valid('is empty', {})
    yield valid('has arbitrary members', { '': [null, { deep: [1e21, -0.5, 'ü\u2028'] }], constructor: 'x' })
    yield invalid('has a lone surrogate in a name', { '\udc00': 1 })
    return
  }
  const extra: Change['verdict'] = open.includes(String(title)) ? 'open' : 'invalid'
  yield {
    title: `${path || 'the envelope'} has an unknown member`,
    value: { ...value, unknown: 1 },
    verdict: extra,
  }
  for (const [name, each] of Object.entries(properties)) {
    const inside = path === '' ? name : `${path}.${name}`
    const { [name]: member, ...others } = value
    if ((required as readonly string[]).includes(name)) yield invalid(`lacks ${name}`, others)
    else yield valid(`lacks ${name}`, others)
    if (member === undefined) continue
    for (const change of changesOf(each as Schema, member, inside)) {
      yield { ...change, value: { ...value, [name]: change.value } }
    }
  }
}

/** The alternative that describes this value. */
function optionFor(schema: Schema, value: unknown): Schema {
  const options = schema.oneOf ?? schema.anyOf
  if (!Array.isArray(options)) return schema
  const fits = options.find(({ properties, type }: Schema) =>
    isSchema(properties)
      ? Object.entries(properties).every(
          ([name, each]) => (each as Schema).const === undefined || (each as Schema).const === (value as Schema)[name],
        )
      : type === (value === null ? 'null' : typeof value),
  )
  return { type: 'object', ...fits }
}
