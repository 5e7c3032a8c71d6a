import type { Agent } from '../core/agent/agent.ts'
import type { CardVerifierOptions } from '../core/auth/card-signature/verify-card.ts'
import type { JsonObject } from '../core/base/json.ts'
import {
  anObject,
  anyOf,
  checkOptions,
  flag,
  group,
  having,
  httpUrl,
  integer,
  listOf,
  milliseconds,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  path,
  recordOf,
  text,
} from '../core/base/options.ts'
import type { Binding } from '../core/dialects/dialect.ts'
import type { DialectName } from '../core/dialects/versions.ts'
import type { TlsOptions } from '../core/node/grpc-client.ts'
import type { AgentCard } from '../core/protocol/card.ts'
import type { CredentialProvider } from '../core/protocol/credentials.ts'
import type { Service } from '../core/protocol/service.ts'
import type { OwnershipStore } from '../core/tasks/ownership.ts'
import type { ServeOptions } from '../serve/options.ts'
import { type ContentRules, contentCheck } from './content.ts'
import { type Rule, rulesCheck } from './rules.ts'

/** Options of `createGateway`. What they share with `serve` means the same. */
export interface GatewayOptions
  extends Omit<ServeOptions, 'log' | 'mesh' | 'tenant' | 'path' | 'recovery' | 'extendedCard'> {
  /** The agents behind the gateway by their names. A text is the URL of an agent. */
  readonly agents: Readonly<Record<string, UpstreamOptions | string>>
  /** Catalogs and registries whose agents are behind the gateway too, for as long as they are listed. */
  readonly from?: readonly FromOptions[]
  /** Who may call what, and how much. The first rule that matches decides; without rules, every caller may call all agents. */
  readonly rules?: readonly Rule[]
  /** Rules about the content of messages and answers, for agents that have none of their own. */
  readonly content?: ContentRules
  /** How the cards of the agents are fetched and served. */
  readonly cards?: CardsOptions
  /** Name of the gateway in `Via`, by which it recognises its own requests. Defaults to a random one. */
  readonly name?: string
  /** PostgreSQL database for task logs and ownership records, for several replicas. Defaults to SQLite files in `directory`. */
  readonly databaseUrl?: string
  /** Where ownership records are stored. Defaults to the database, or to a file in `directory`. */
  readonly ownership?: OwnershipStore
  /** How long ownership records and webhooks of pass-through agents are kept, in milliseconds. Defaults to 30 days. */
  readonly keepRecords?: number
}

/** A catalog or registry whose agents are behind a gateway. */
export interface FromOptions {
  /** URL of an AI catalog, or an origin that has one at `/.well-known/ai-catalog.json`. */
  readonly catalog?: string
  /** URL of a Parley registry. */
  readonly registry?: string
  /** Which of its agents. Defaults to all of them. */
  readonly filter?: FromFilter
  /** Options of each agent. Credentials need `filter.host`, because the catalog says where the agents are. */
  readonly options?: ListedOptions
  /** Milliseconds after which it is read again. Defaults to 60,000. */
  readonly refresh?: number
  /** Maximum number of agents. Defaults to 100. */
  readonly limit?: number
}

/** A listed agent matches if every condition holds. `*` in a name or host stands for any characters. */
export interface FromFilter {
  /** The display name; any of them. */
  readonly name?: string | readonly string[]
  /** The host of the agent's card; any of them. */
  readonly host?: string | readonly string[]
  /** Tags; all of them. */
  readonly tag?: string | readonly string[]
  /** Skills by id or name; all of them. Only for a registry, as are `capability` and `text`. */
  readonly skill?: string | readonly string[]
  readonly capability?: string | readonly string[]
  readonly text?: string
}

/** Options of the agents that a catalog or registry lists. */
export type ListedOptions = Omit<
  UpstreamOptions,
  'url' | 'urls' | 'card' | 'agent' | 'mcp' | 'service' | 'cardModel' | 'path' | 'hostname' | 'tenant'
>

/** An MCP server behind a gateway: at a URL, or a program to start. */
export interface McpUpstreamOptions {
  /** Where it speaks Streamable HTTP. */
  readonly url?: string
  /** Headers of requests to `url`, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>
  /** A program that speaks MCP over its standard input and output. */
  readonly command?: string
  readonly args?: readonly string[]
  /** Environment of the program, in addition to a few harmless variables. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** An agent behind a gateway: at a URL, in this process, or any other service with its card. */
export interface UpstreamOptions {
  /** The URL of the agent: its endpoint if `card` is set too, otherwise where its card is searched. */
  readonly url?: string
  /**
   * Further addresses of the same agent, such as its replicas. New work goes to the one with the fewest open calls, and
   * follow-ups to where their task is.
   */
  readonly urls?: readonly string[]
  /** The URL of the card, or the card itself. Defaults to the card below `url`, then at its origin. */
  readonly card?: string | JsonObject
  /** An agent in this process. It is served as it is, with the rules of the gateway. */
  readonly agent?: Agent
  /** An MCP server, which becomes an agent without a model: one typed skill for each of its tools. */
  readonly mcp?: McpUpstreamOptions
  /** The operations of an agent that is reached otherwise, such as `meshService(…)`. `cardModel` describes it. */
  readonly service?: Service
  readonly cardModel?: AgentCard
  /**
   * Whether the gateway stores the tasks (`durable`), so that callers can resume, list and repeat whatever the agent
   * supports, or only who owns them (`pass-through`). Defaults to `durable`.
   */
  readonly mode?: Mode
  /** Path at which the agent is served. Defaults to its name, and to the root for a single agent. */
  readonly path?: string
  /** Host name for which the agent is served. */
  readonly hostname?: string
  /** The tenant that callers name, where several agents share an address. */
  readonly tenant?: string
  /** Credentials of the gateway. The card of the agent decides which ones are used. */
  readonly auth?: readonly CredentialProvider[]
  /**
   * Calls the agent in the name of the caller: with the caller's own token (`forward`), or with one for that audience, by
   * `auth.exchange` of the gateway. Defaults to neither.
   */
  readonly identity?: 'forward' | { readonly audience: string }
  /** Client certificate and authorities for the connection to the agent. */
  readonly tls?: TlsOptions
  /** Rules about the content of messages and answers. Defaults to those of the gateway. */
  readonly content?: ContentRules
  /** Names of request headers that are passed on to the agent. Defaults to none. */
  readonly forwardHeaders?: readonly string[]
  /** Whether the card must be signed, and by which keys. Defaults to `prefer` if keys are given, else to `ignore`. */
  readonly signature?: SignatureOptions
  /** Hosts and address ranges that the card may name besides the configured host, such as `10.1.0.0/16`. */
  readonly allow?: readonly string[]
  /** Versions to speak with the agent. Defaults to those of its card. */
  readonly dialects?: readonly DialectName[]
  /** Bindings to use, in this order. Defaults to JSON-RPC, REST and gRPC, in the order of the card. */
  readonly bindings?: readonly Binding[]
  /** Timeout of a call to the agent in milliseconds. Defaults to 60,000. */
  readonly timeout?: number
  /** Milliseconds without a byte after which a stream of the agent counts as broken. Defaults to 45,000. */
  readonly idleTimeout?: number
  /** Calls and streams to the agent that may be open at once. Further ones get 503. Defaults to 2,000. */
  readonly concurrency?: number
  /** How long a durable task survives an agent that cannot be reached, in milliseconds. Defaults to 600,000. */
  readonly patience?: number
  /** Whether the agent recognises a repeated `messageId`. Defaults to whether it numbers the events of its streams. */
  readonly deduplicates?: boolean
}

export type Mode = 'durable' | 'pass-through'

/** How the signature of an agent's card is judged, and the keys that are trusted. */
export interface SignatureOptions extends Pick<CardVerifierOptions, 'keys' | 'jwks' | 'trustedOrigins'> {
  /** `require` refuses the agent without a valid signature, `prefer` refuses an invalid one, `ignore` checks nothing. */
  readonly mode?: 'require' | 'prefer' | 'ignore'
}

/** The `cards` option of a gateway. */
export interface CardsOptions {
  /** Milliseconds after which cards are fetched again. Defaults to 60,000. */
  readonly refresh?: number
  /** Whether the served card contains the card of the agent as it was fetched. Defaults to `reference`: its hash and signer. */
  readonly origin?: 'reference' | 'include'
}

/** Checks of what every agent may have, also one that a catalog lists. */
const listedChecks: OptionChecks<ListedOptions> = {
  mode: oneOf('durable', 'pass-through'),
  auth: listOf(having('credentials such as bearer(…) of parley-a2a/client/auth', 'credentialsFor')),
  identity: anyOf("'forward' or { audience }", oneOf('forward'), group<{ audience: string }>({ audience: text })),
  tls: anObject,
  content: contentCheck,
  forwardHeaders: listOf(headerName),
  signature: group<SignatureOptions>({
    keys: listOf(anObject),
    jwks: httpUrl,
    trustedOrigins: listOf(httpUrl),
    mode: oneOf('require', 'prefer', 'ignore'),
  }),
  allow: listOf(text),
  dialects: listOf(text),
  bindings: listOf(oneOf('JSONRPC', 'HTTP+JSON', 'GRPC')),
  timeout: milliseconds({ min: 1, infinite: false }),
  idleTimeout: milliseconds({ min: 1, infinite: false }),
  concurrency: integer({ min: 1 }),
  patience: milliseconds({ min: 1, infinite: false }),
  deduplicates: flag,
}

const upstreamChecks: OptionChecks<UpstreamOptions> = {
  ...listedChecks,
  url: httpUrl,
  urls: listOf(httpUrl),
  card: anyOf('the URL of a card, or a card', httpUrl, anObject),
  agent: having("an agent such as agent({ name: 'Echo' }, …)", 'profile', 'run'),
  mcp: group<McpUpstreamOptions>({
    url: httpUrl,
    headers: recordOf(text),
    command: text,
    args: listOf(text),
    env: recordOf(text),
    cwd: text,
  }),
  service: having('a service such as meshService(…)', 'sendMessage', 'getTask'),
  cardModel: anObject,
  path,
  hostname: text,
  tenant: text,
}

/** Headers that the gateway sets itself, and that name or authenticate the caller. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...['authorization', 'cookie', 'host', 'content-length', 'content-type', 'transfer-encoding', 'connection', 'te'],
  ...['upgrade', 'keep-alive', 'trailer', 'proxy-authorization', 'via', 'a2a-version', 'a2a-extensions', 'accept'],
  ...['x-a2a-extensions', 'idempotency-key', 'last-event-id', 'traceparent', 'tracestate', 'a2a-hops'],
])

function headerName(value: unknown, name: string): void {
  const header = `${value}`.toLowerCase()
  if (typeof value !== 'string' || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(header)) {
    throw new TypeError(`${name}: expected the name of a header, got ${JSON.stringify(value)}.`)
  }
  if (ownHeaders.has(header)) {
    throw new TypeError(
      `${name}: ${header} is set by the gateway. To pass on the caller's token, set identity: 'forward'.`,
    )
  }
}

const agentCheck: OptionCheck = anyOf(
  'the URL of an agent, or an object such as { url }',
  httpUrl,
  group(upstreamChecks),
)

const names: OptionCheck = anyOf('a text, or a list of texts', text, listOf(text))

const fromChecks: OptionChecks<FromOptions> = {
  catalog: httpUrl,
  registry: httpUrl,
  filter: group<FromFilter>({ name: names, host: names, tag: names, skill: names, capability: names, text }),
  options: group<ListedOptions>(listedChecks),
  refresh: milliseconds({ min: 100, infinite: false }),
  limit: integer({ min: 1, max: 10_000 }),
}

export const gatewayChecks = {
  agents: recordOf(agentCheck),
  from: listOf(group<FromOptions>(fromChecks)),
  rules: rulesCheck,
  content: contentCheck,
  cards: group<CardsOptions>({ refresh: milliseconds({ min: 100 }), origin: oneOf('reference', 'include') }),
  name: text,
  databaseUrl: text,
  ownership: having('a store such as createSqliteOwnership()', 'claim', 'find'),
  keepRecords: milliseconds({ min: 1 }),
} satisfies Partial<OptionChecks<GatewayOptions>>

/** The agents with their options and addresses. Throws for an agent that cannot be served. */
export function readAgents({ agents, from = [] }: AgentSources): readonly NamedUpstream[] {
  const entries = Object.entries(agents)
  if (entries.length + from.length === 0) {
    throw new TypeError('createGateway: agents: expected at least one agent, got none.')
  }
  for (const [index, source] of from.entries()) requireSource(`createGateway: from[${index}]`, source)
  const named = entries.map(([name, given]): NamedUpstream => {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
      const expected = 'a name of letters, digits, dots, dashes and underscores'
      throw new TypeError(`createGateway: agents: expected ${expected}, got ${JSON.stringify(name)}.`)
    }
    const options: UpstreamOptions = typeof given === 'string' ? { url: given } : given
    checkOptions(`createGateway: agents.${name}`, options, upstreamChecks)
    const sources = [options.url ?? options.card, options.agent, options.mcp, options.service].filter(
      (source) => source !== undefined,
    )
    if (sources.length !== 1) {
      throw new TypeError(`createGateway: agents.${name}: expected one of url, card, agent, mcp and service.`)
    }
    const { mcp } = options
    if (mcp && (mcp.url === undefined) === (mcp.command === undefined)) {
      throw new TypeError(`createGateway: agents.${name}.mcp: expected one of url and command.`)
    }
    if (options.urls && (options.url === undefined || typeof options.card === 'string')) {
      throw new TypeError(
        `createGateway: agents.${name}: urls are further addresses beside url, each with its own card.`,
      )
    }
    if (needsKeys(options.signature)) {
      const text = `signature.mode: ${options.signature?.mode} needs keys, jwks or trustedOrigins, which say whom to trust.`
      throw new TypeError(`createGateway: agents.${name}: ${text}`)
    }
    if (options.agent && options.content) {
      throw new TypeError(
        `createGateway: agents.${name}: content rules are for agents behind the gateway, not for agent.`,
      )
    }
    if (options.service && !options.cardModel) {
      throw new TypeError(`createGateway: agents.${name}: a service needs cardModel, which describes it.`)
    }
    const isAlone = entries.length + from.length === 1 || options.hostname !== undefined || options.tenant !== undefined
    return { name, options, path: options.path ?? (isAlone ? '' : `/${name}`) }
  })
  const addresses = named.map(({ path, options: { hostname = '', tenant = '' } }) => `${hostname} ${path} ${tenant}`)
  const twice = addresses.findIndex((address, index) => addresses.indexOf(address) !== index)
  if (twice >= 0) {
    throw new TypeError(
      `createGateway: agents.${named[twice]?.name}: another agent has the same path, hostname and tenant.`,
    )
  }
  return named
}

/** Throws for a source that cannot be read, or that could make the gateway send credentials anywhere. */
function requireSource(where: string, { catalog, registry, filter = {}, options = {} }: FromOptions): void {
  if ((catalog === undefined) === (registry === undefined)) {
    throw new TypeError(`${where}: expected one of catalog and registry.`)
  }
  const unsupported = (['skill', 'capability', 'text'] as const).find((member) => filter[member] !== undefined)
  if (catalog !== undefined && unsupported) {
    throw new TypeError(`${where}.filter.${unsupported}: a catalog does not say so: filter by tag, or use registry.`)
  }
  const sent = (['auth', 'identity', 'tls', 'forwardHeaders'] as const).find((member) => options[member] !== undefined)
  if (sent && filter.host === undefined) {
    const text = `a catalog could name any host and get it: say in filter.host which hosts may.`
    throw new TypeError(`${where}.options.${sent}: ${text}`)
  }
  if (needsKeys(options.signature)) {
    throw new TypeError(
      `${where}.options.signature.mode: ${options.signature?.mode} needs keys, jwks or trustedOrigins.`,
    )
  }
}

function needsKeys({ mode = 'ignore', ...trusted }: SignatureOptions = {}): boolean {
  return mode !== 'ignore' && Object.values(trusted).every((each) => each === undefined)
}

export interface NamedUpstream {
  readonly name: string
  readonly options: UpstreamOptions
  /** Empty at the root. */
  readonly path: string
  /** The catalog or registry that lists the agent. Undefined for a configured agent. */
  readonly source?: string
  /** Whether its address is not the operator's choice, so that it must be public or in `allow`. */
  readonly isForeign?: boolean
}

/** The options that say which agents there are. */
export type AgentSources = Pick<GatewayOptions, 'agents' | 'from'>
