import { LineCounter, parseDocument, Scalar, visit } from 'yaml'
import { createKeyRing } from '../core/auth/key-ring.ts'
import { apiKey, hashApiKey, type StoredKey } from '../core/auth/schemes/api-key.ts'
import { jwt, openId } from '../core/auth/schemes/tokens.ts'
import { tokenExchange } from '../core/auth/token-exchange.ts'
import { defined, isObject, type Json, type JsonObject } from '../core/base/json.ts'
import { clientCredentials } from '../core/client/credentials/oauth-flows.ts'
import { apiKeyCredentials, basicCredentials, bearer } from '../core/client/credentials/static-credentials.ts'
import type { CredentialProvider } from '../core/protocol/credentials.ts'
import { anonymous, type Principal } from '../core/protocol/model.ts'
import type { AuthChoice } from '../core/server/authentication.ts'
import { checkSchema, gatewaySchema, type SchemaProblem } from './config-schema.ts'
import { type FromOptions, type GatewayOptions, readAgents, type UpstreamOptions } from './options.ts'

/** The text that replaces a secret where a configuration is printed. */
const hidden = '***'

/** Names of members whose values are never printed. */
const secretMembers = /^(bearer|password|clientSecret|apiKey|key|signingKey|database)$/

/** A wrong configuration: one line for each problem, with file, line and column. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** Where a configuration and its references are read from. */
export interface ConfigSources {
  /** The name of the file in errors. */
  readonly file: string
  /** The variables that `${env:NAME}` reads. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads the file that `${file:path}` names, relative to the configuration. Throws if it cannot be read. */
  readonly readFile: (path: string) => string
}

/** A configuration file as it was read. */
export interface GatewayConfig {
  readonly options: GatewayOptions
  /** The configuration with its references resolved and its secrets hidden. */
  readonly printed: JsonObject
  /** The caller of this name, with the tenant, scopes and groups of its key if it has one. */
  principal(id: string): Principal
}

/**
 * Reads the YAML of a gateway's configuration. Throws `ConfigError` with all problems that it finds.
 */
export async function readGatewayConfig(yaml: string, sources: ConfigSources): Promise<GatewayConfig> {
  const lines = new LineCounter()
  const document = parseDocument(yaml, { lineCounter: lines, uniqueKeys: true })
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${sources.file}:${line}:${col}`
  }
  if (document.errors.length > 0) {
    throw new ConfigError(document.errors.map(({ pos, message }) => `${placeAt(pos[0])}: ${message.split('\n')[0]}`))
  }
  const problems: string[] = []
  const secrets = new Set<string>()
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value !== 'string') return
      try {
        node.value = resolve(node.value, sources, secrets)
      } catch (error) {
        problems.push(`${placeAt(node.range?.[0] ?? 0)}: ${error instanceof Error ? error.message : error}`)
      }
    },
  })
  const value: unknown = document.toJS({ maxAliasCount: 100 })
  if (!isObject(value)) throw new ConfigError([`${placeAt(0)}: expected members such as agents.`])
  const offsetOf = ({ path, isName }: SchemaProblem): number => {
    const owner = document.getIn(path.slice(0, -1), true)
    const name = path.at(-1)
    const pairs = isObject(owner) && 'items' in owner ? (owner.items as unknown as readonly YamlPair[]) : []
    const pair = pairs.find(({ key }) => key instanceof Scalar && key.value === name)
    if (isName && pair?.key instanceof Scalar) return pair.key.range?.[0] ?? 0
    const node = document.getIn(path, true) as YamlNode | undefined
    return node?.range?.[0] ?? (pair?.key instanceof Scalar ? (pair.key.range?.[0] ?? 0) : 0)
  }
  for (const problem of checkSchema(value, gatewaySchema)) {
    const where = problem.path.join('.')
    problems.push(`${placeAt(offsetOf(problem))}: ${where === '' ? '' : `${where}: `}${problem.message}`)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  try {
    const options = await optionsOf(value)
    readAgents(options)
    const printed = hide(value, secrets) as JsonObject
    return { options, printed, principal: (id) => principalOf(id, value.auth) }
  } catch (error) {
    const message = `${error instanceof Error ? error.message : error}`.replace(/^createGateway: /, '')
    const [, where = ''] = /^([^\s:]+): /.exec(message) ?? []
    throw new ConfigError([`${placeAt(offsetOf({ path: pathOf(where, value), message }))}: ${message}`])
  }
}

/** The longest part of a path such as `agents.old.signature.mode` or `from[0].filter` that the document has. */
function pathOf(where: string, value: JsonObject): readonly (string | number)[] {
  const path: (string | number)[] = []
  let at: Json | undefined = value
  for (const name of where.split(/[.[\]]+/).filter((each) => each !== '')) {
    at = Array.isArray(at) ? at[Number(name)] : isObject(at) ? at[name] : undefined
    if (at === undefined) break
    path.push(/^\d+$/.test(name) ? Number(name) : name)
  }
  return path
}

interface YamlNode {
  readonly range?: readonly [number, number, number] | null
}

interface YamlPair {
  readonly key: unknown
}

/** Resolves `${env:NAME}` and `${file:path}`. What they refer to counts as secret. */
function resolve(text: string, { env, readFile }: ConfigSources, secrets: Set<string>): string {
  return text.replace(/\$\{(env|file):([^}]+)\}/g, (_, kind: string, name: string) => {
    if (kind === 'env') {
      const value = env[name]
      if (value === undefined) throw new Error(`the environment variable ${name} is not set.`)
      secrets.add(value)
      return value
    }
    try {
      const value = readFile(name).trim()
      secrets.add(value)
      return value
    } catch {
      throw new Error(`the file ${name} cannot be read.`)
    }
  })
}

function hide(value: Json, secrets: ReadonlySet<string>, name = ''): Json {
  if (Array.isArray(value)) return value.map((item) => hide(item, secrets, name))
  if (isObject(value)) {
    const hidesAll = name === 'apiKeys' || name === 'headers' || name === 'env'
    const entries = Object.entries(value).map(([member, item]): [string, Json] => [
      member,
      hidesAll && typeof item === 'string' ? hidden : hide(item, secrets, member),
    ])
    return Object.fromEntries(entries)
  }
  if (typeof value !== 'string') return value
  if (secretMembers.test(name)) return hidden
  let text = value
  for (const secret of secrets) if (secret !== '') text = text.replaceAll(secret, hidden)
  return text
}

async function optionsOf(config: JsonObject): Promise<GatewayOptions> {
  const {
    port,
    host,
    publicUrl,
    trustProxy,
    name,
    directory,
    database,
    grpc,
    metrics,
    keepRecords,
    tls,
    cards,
    content,
    rules,
  } = config as Pick<GatewayOptions, 'port' | 'host' | 'publicUrl' | 'trustProxy' | 'name' | 'directory' | 'metrics'> &
    Pick<GatewayOptions, 'keepRecords' | 'tls' | 'cards' | 'content' | 'rules'> & {
      readonly database?: string
      readonly grpc?: boolean
    }
  const agents = Object.entries((config.agents ?? {}) as Readonly<Record<string, string | JsonObject>>).map(
    ([agent, given]) => [agent, typeof given === 'string' ? given : upstreamOf(given)] as const,
  )
  const from = config.from as readonly (JsonObject & Omit<FromOptions, 'options'>)[] | undefined
  return defined({
    port,
    host,
    publicUrl,
    trustProxy,
    name,
    directory,
    grpc,
    metrics,
    keepRecords,
    tls,
    cards,
    content,
    rules,
    databaseUrl: database,
    push: config.push === true ? {} : undefined,
    console: config.console === false ? (false as const) : undefined,
    keys: typeof config.signingKey === 'string' ? keysOf(config.signingKey) : undefined,
    auth: config.auth === undefined ? undefined : await authOf(config.auth),
    agents: Object.fromEntries(agents),
    from: from?.map(({ options, ...source }) =>
      defined({ ...source, options: isObject(options) ? upstreamOf(options) : undefined }),
    ),
  })
}

function upstreamOf({ auth, ...given }: JsonObject): UpstreamOptions {
  // The schema has checked the other members.
  const options = given as UpstreamOptions
  return isObject(auth) ? { ...options, auth: credentialsFor(auth) } : options
}

/** Providers by their settings: an agent whose credentials are unchanged is the same agent after a reload. */
const providersOf = new Map<string, readonly CredentialProvider[]>()

function credentialsFor(auth: JsonObject): readonly CredentialProvider[] {
  const key = JSON.stringify(auth)
  const providers = providersOf.get(key) ?? credentialsOf(auth)
  if (providersOf.size >= 1_000) providersOf.clear()
  providersOf.set(key, providers)
  return providers
}

function credentialsOf({ bearer: token, apiKey: key, basic, clientCredentials: client }: JsonObject) {
  const providers: CredentialProvider[] = []
  if (typeof token === 'string') providers.push(bearer(token))
  if (typeof key === 'string') providers.push(apiKeyCredentials(key))
  if (isObject(key)) {
    const { key: value, ...where } = key as { readonly key: string; readonly name?: string; readonly in?: 'header' }
    providers.push(apiKeyCredentials(value, where))
  }
  if (isObject(basic)) providers.push(basicCredentials(basic as { username: string; password: string } & JsonObject))
  if (isObject(client)) providers.push(clientCredentials(client as unknown as Parameters<typeof clientCredentials>[0]))
  return providers
}

async function authOf(auth: Json): Promise<AuthChoice> {
  if (!isObject(auth)) return 'none'
  const { apiKeys, jwt: tokens, openId: provider, exchange, anonymous } = auth
  const keys = isObject(apiKeys) ? await Promise.all(Object.entries(apiKeys).map(storedKey)) : undefined
  const schemes = defined({
    apiKey: keys && apiKey({ keys }),
    jwt: isObject(tokens) ? jwtOf(tokens) : undefined,
    openId: isObject(provider) ? openId(provider as unknown as Parameters<typeof openId>[0]) : undefined,
  })
  const require = Object.keys(schemes).map((name) => ({ [name]: [] }))
  return defined({
    schemes,
    require: require.length > 1 ? require : undefined,
    anonymous: anonymous === true ? true : undefined,
    exchange: isObject(exchange)
      ? tokenExchange(exchange as unknown as Parameters<typeof tokenExchange>[0])
      : undefined,
  })
}

function jwtOf({ issuer, audience, jwks }: JsonObject) {
  const rules = { issuer, audience } as Pick<Parameters<typeof jwt>[0], 'issuer' | 'audience'>
  return jwt({ ...rules, keys: { url: `${jwks}` } })
}

async function storedKey([id, given]: readonly [string, Json]): Promise<StoredKey> {
  const key = isObject(given) ? given.key : given
  return { ...identityOf(id, given), hash: await hashApiKey(`${key}`) }
}

function identityOf(id: string, given: Json | undefined) {
  const { tenant, scopes, groups } = isObject(given) ? given : {}
  return defined({
    id,
    tenant: typeof tenant === 'string' ? tenant : undefined,
    scopes: scopes as readonly string[] | undefined,
    claims: groups === undefined ? undefined : { groups },
  })
}

function principalOf(id: string, auth: Json | undefined): Principal {
  if (id === '') return anonymous
  const keys = isObject(auth) && isObject(auth.apiKeys) ? auth.apiKeys : {}
  return identityOf(id, Object.hasOwn(keys, id) ? keys[id] : undefined)
}

function keysOf(text: string) {
  let jwk: Json
  try {
    jwk = JSON.parse(text)
  } catch {
    throw new Error('signingKey: expected a private JWK as JSON.')
  }
  if (!isObject(jwk) || typeof jwk.kid !== 'string') throw new Error('signingKey: expected a private JWK with a kid.')
  const alg = jwk.alg === 'EdDSA' || jwk.kty === 'OKP' ? 'EdDSA' : 'ES256'
  return createKeyRing({ key: jwk, kid: jwk.kid, alg })
}
