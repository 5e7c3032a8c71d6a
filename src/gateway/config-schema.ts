import { closest } from '../core/base/closest.ts'
import { defined, isList, isObject, type JsonObject } from '../core/base/json.ts'
import { operationNames } from './rules.ts'

const text = { type: 'string', minLength: 1 } as const
const url = { type: 'string', pattern: '^https?://', description: 'An http or https URL.' } as const
const texts = { type: 'array', items: text } as const
const flag = { type: 'boolean' } as const
const time = { type: 'number', exclusiveMinimum: 0, description: 'Milliseconds.' } as const
const names = { anyOf: [text, texts] } as const
const textsByName = { type: 'object', additionalProperties: text } as const

function objectSchema(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return defined({
    type: 'object',
    properties,
    additionalProperties: false,
    required: required.length > 0 ? required : undefined,
  })
}

const content: JsonObject = objectSchema({
  redact: {
    type: 'array',
    items: objectSchema({ name: text, pattern: text, maxLength: { type: 'integer', minimum: 1 } }, ['name', 'pattern']),
    description: 'Patterns (RE2) that are replaced in messages and answers.',
  },
})

/** What every agent may have, also one that a catalog lists. */
const listed: JsonObject = {
  mode: {
    enum: ['durable', 'pass-through'],
    description: 'Whether the gateway stores the tasks. Defaults to durable.',
  },
  auth: objectSchema({
    bearer: text,
    apiKey: {
      anyOf: [text, objectSchema({ key: text, name: text, in: { enum: ['header', 'query', 'cookie'] } }, ['key'])],
    },
    basic: objectSchema({ username: text, password: text }, ['username', 'password']),
    clientCredentials: objectSchema({ clientId: text, clientSecret: text, tokenUrl: url, scopes: texts }, [
      ...['clientId', 'clientSecret', 'tokenUrl'],
    ]),
  }),
  identity: { anyOf: [{ enum: ['forward'] }, objectSchema({ audience: text }, ['audience'])] },
  tls: objectSchema({ cert: text, key: text, ca: text }),
  content,
  forwardHeaders: texts,
  signature: objectSchema({
    mode: { enum: ['require', 'prefer', 'ignore'] },
    jwks: url,
    trustedOrigins: { type: 'array', items: url },
  }),
  allow: texts,
  dialects: texts,
  bindings: { type: 'array', items: { enum: ['JSONRPC', 'HTTP+JSON', 'GRPC'] } },
  timeout: time,
  idleTimeout: time,
  concurrency: { type: 'integer', minimum: 1, description: 'Calls that may be open at once.' },
  patience: time,
  deduplicates: flag,
}

const upstream: JsonObject = objectSchema({
  url: { ...url, description: 'Where the agent is: its endpoint if card is set too, else where its card is searched.' },
  urls: { type: 'array', items: url, description: 'Further addresses of the same agent.' },
  card: { anyOf: [url, { type: 'object' }], description: 'The URL of the card, or the card itself.' },
  mcp: objectSchema({
    url: { ...url, description: 'An MCP server over Streamable HTTP.' },
    headers: textsByName,
    command: { ...text, description: 'A program that speaks MCP over its standard input and output.' },
    args: texts,
    env: textsByName,
    cwd: text,
  }),
  path: { type: 'string', pattern: '^/', description: 'Where the agent is served. Defaults to its name.' },
  hostname: text,
  tenant: text,
  ...listed,
})

const from: JsonObject = objectSchema({
  catalog: { ...url, description: 'An AI catalog, or an origin that has one.' },
  registry: { ...url, description: 'A Parley registry.' },
  filter: objectSchema({ name: names, host: names, tag: names, skill: names, capability: names, text }),
  options: objectSchema(listed),
  refresh: time,
  limit: { type: 'integer', minimum: 1, maximum: 10_000 },
})

const rule: JsonObject = objectSchema({
  name: text,
  principal: names,
  group: names,
  tenant: names,
  agent: names,
  skill: names,
  operation: { anyOf: [{ enum: operationNames }, { type: 'array', items: { enum: operationNames } }] },
  effect: { enum: ['allow', 'deny'] },
  rate: objectSchema({ limit: { type: 'number', exclusiveMinimum: 0 }, per: time }, [...['limit', 'per']]),
  concurrency: { type: 'number', exclusiveMinimum: 0 },
  bodySize: { type: 'number', exclusiveMinimum: 0, description: 'Bytes.' },
  duration: time,
})

/** The JSON Schema of a gateway's configuration file, for editors and for the gateway itself. */
export const gatewaySchema: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://parley.dev/schemas/gateway.json',
  title: 'Configuration of a Parley gateway',
  ...objectSchema({
    port: { type: 'integer', minimum: 0, maximum: 65_535 },
    host: text,
    publicUrl: url,
    trustProxy: flag,
    name: text,
    directory: { ...text, description: 'The folder of task logs and ownership records. Defaults to .parley.' },
    database: { ...text, description: 'A PostgreSQL URL, for several replicas.' },
    grpc: flag,
    push: flag,
    metrics: flag,
    console: flag,
    keepRecords: time,
    tls: objectSchema({ cert: text, key: text }, ['cert', 'key']),
    signingKey: { ...text, description: 'A private JWK that signs cards, best by a reference to a file.' },
    auth: {
      anyOf: [
        { enum: ['none'] },
        objectSchema({
          apiKeys: {
            type: 'object',
            additionalProperties: {
              anyOf: [text, objectSchema({ key: text, tenant: text, scopes: texts, groups: texts }, ['key'])],
            },
            description: 'Keys by the principals that they identify.',
          },
          jwt: objectSchema({ issuer: names, audience: names, jwks: url }, ['issuer', 'audience', 'jwks']),
          openId: objectSchema({ issuer: url, audience: names }, ['issuer', 'audience']),
          exchange: objectSchema({ tokenUrl: url, clientId: text, clientSecret: text }, [
            'tokenUrl',
            'clientId',
            'clientSecret',
          ]),
          anonymous: flag,
        }),
      ],
    },
    content,
    cards: objectSchema({ refresh: time, origin: { enum: ['reference', 'include'] } }),
    agents: { type: 'object', additionalProperties: { anyOf: [url, upstream] } },
    from: { type: 'array', items: from, description: 'Catalogs and registries whose agents are served too.' },
    rules: { type: 'array', items: rule },
  }),
}

/** What is wrong at a place of a document. */
export interface SchemaProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
  /** Whether the name of the last member is wrong, not its value. */
  readonly isName?: boolean
}

/** Checks a value by the part of JSON Schema that `gatewaySchema` uses. */
export function checkSchema(
  value: unknown,
  schema: JsonObject,
  path: SchemaProblem['path'] = [],
): readonly SchemaProblem[] {
  const problem = (message: string): readonly SchemaProblem[] => [{ path, message }]
  const { anyOf, enum: values, type } = schema
  if (isList(anyOf)) {
    const results = (anyOf as readonly JsonObject[]).map((each) => ({ each, problems: checkSchema(value, each, path) }))
    if (results.some(({ problems }) => problems.length === 0)) return []
    // The alternative of the same kind says best what is wrong.
    const fitting = results.find(({ each }) => each.type === typeOf(value))
    return fitting?.problems ?? problem(`expected ${results.map(({ each }) => describe(each)).join(' or ')}`)
  }
  if (isList(values)) {
    if (values.includes(value as string)) return []
    const near = typeof value === 'string' ? closest(value, values.map(String)) : undefined
    return problem(`expected one of ${values.join(', ')}${near ? `. Did you mean ${near}?` : ''}`)
  }
  const isType = type === 'integer' ? Number.isInteger(value) : type === undefined || type === typeOf(value)
  if (!isType) return problem(`expected ${describe(schema)}, got ${value === null ? 'nothing' : typeOf(value)}`)
  if (isObject(value)) return checkMembers(value, schema, path)
  if (isList(value))
    return value.flatMap((item, index) => checkSchema(item, schema.items as JsonObject, [...path, index]))
  if (typeof value === 'string') {
    if (value === '' && schema.minLength === 1) return problem('expected a text that is not empty')
    const isMatch = typeof schema.pattern !== 'string' || new RegExp(schema.pattern).test(value)
    return isMatch ? [] : problem(`expected ${describe(schema)}`)
  }
  if (typeof value === 'number') {
    const { minimum = value, maximum = value, exclusiveMinimum = value - 1 } = schema
    if (value < Number(minimum) || value > Number(maximum))
      return problem(
        schema.maximum === undefined
          ? `expected a number of at least ${minimum}`
          : `expected a number from ${minimum} to ${maximum}`,
      )
    if (value <= Number(exclusiveMinimum)) return problem(`expected a number above ${exclusiveMinimum}`)
  }
  return []
}

function checkMembers(value: JsonObject, schema: JsonObject, path: SchemaProblem['path']): readonly SchemaProblem[] {
  const { properties, additionalProperties, required = [], minProperties = 0 } = schema
  const known = (properties ?? {}) as Readonly<Record<string, JsonObject>>
  const problems = Object.entries(value).flatMap(([name, member]): readonly SchemaProblem[] => {
    const at = [...path, name]
    if (Object.hasOwn(known, name)) return checkSchema(member, known[name] ?? {}, at)
    if (isObject(additionalProperties)) return checkSchema(member, additionalProperties, at)
    if (additionalProperties !== false) return []
    const near = closest(name, Object.keys(known))
    const advice = near ? `Did you mean ${near}?` : `Expected one of ${Object.keys(known).join(', ')}.`
    return [{ path: at, message: `there is no ${name}. ${advice}`, isName: true }]
  })
  const missing = (required as readonly string[]).filter((name) => !Object.hasOwn(value, name))
  const tooFew =
    Object.keys(value).length < Number(minProperties) ? [{ path, message: 'expected at least one entry' }] : []
  return [...problems, ...missing.map((name) => ({ path, message: `${name} is missing` })), ...tooFew]
}

function typeOf(value: unknown): string {
  if (isList(value)) return 'array'
  return value === null ? 'null' : typeof value
}

function describe({ type, enum: values, pattern, items }: JsonObject): string {
  if (isList(values)) return values.join(' or ')
  if (pattern === '^https?://') return 'an http or https URL'
  if (pattern === '^/') return 'a path that starts with a slash'
  if (type === 'array') return `a list of ${isObject(items) && items.type === 'string' ? 'texts' : 'values'}`
  const kinds: Readonly<Record<string, string>> = { string: 'a text', object: 'members', boolean: 'true or false' }
  return kinds[`${type}`] ?? `a ${type === 'integer' ? 'whole number' : type}`
}
