import type { AgentCard, AgentInterface } from '../protocol/card.ts'
import type { Binding, DialectInfo } from './dialect.ts'

export interface EndpointOptions {
  readonly dialects: readonly DialectInfo[]
  readonly bindings: readonly Binding[]
  /** A version that is as likely as the one of the card. */
  readonly alternativeVersion?: string
  /** Where the card was found. */
  readonly cardUrl?: string
  /** Turns an address of a card into a URL, for bindings whose addresses are no URLs. */
  readonly addressOf?: (binding: Binding, address: string) => string
}

/** A URL of an agent, with the binding and the dialect to use there. */
export interface Endpoint {
  readonly url: string
  readonly binding: Binding
  readonly dialect: DialectInfo
  readonly tenant?: string
  /**
   * Whether the card names it. The others are tried when those fail: the card may name another version than the agent
   * speaks (`other-version`), or an address that only its author can reach (`card-relative`).
   */
  readonly origin: 'card' | 'other-version' | 'card-relative'
}

/** The endpoints that a card names, in its order. */
export function endpointsOf({ interfaces }: AgentCard, options: EndpointOptions): readonly Endpoint[] {
  const endpoints: Endpoint[] = []
  const { dialects } = options
  const isAddition = (each: AgentInterface) =>
    dialects.some(({ version, extendsVersion }) => extendsVersion && version === versionOf(each, dialects))
  // A version that only adds to another one comes first, whatever the order of the card.
  for (const agentInterface of [...interfaces.filter(isAddition), ...interfaces]) {
    addEndpoints(endpoints, agentInterface, versionOf(agentInterface, dialects), 'card', options)
    if (options.alternativeVersion) addEndpoints(endpoints, agentInterface, options.alternativeVersion, 'card', options)
  }
  return endpoints
}

/** The endpoints at the same URLs in the versions that the card does not name for them. */
export function otherVersionEndpoints(
  { interfaces }: AgentCard,
  named: readonly Endpoint[],
  options: EndpointOptions,
): readonly Endpoint[] {
  const endpoints = [...named]
  const released = options.dialects.filter(({ extendsVersion }) => !extendsVersion)
  const versions = new Set(released.map(({ version }) => version))
  for (const agentInterface of interfaces) {
    for (const version of versions) addEndpoints(endpoints, agentInterface, version, 'other-version', options)
  }
  return endpoints.slice(named.length)
}

/** The same endpoints on the origin of the card, which is known to be reachable. */
export function cardRelativeEndpoints(endpoints: readonly Endpoint[], cardUrl: string): readonly Endpoint[] {
  const base = new URL(cardUrl.replace(/\/\.well-known\/.*$/s, '/'))
  const relative = endpoints.flatMap((endpoint): Endpoint[] => {
    const { pathname, search } = new URL(endpoint.url)
    const urls = [new URL(`${pathname}${search}`, base.origin).href, new URL('.', base).href]
    return urls.map((url) => ({ ...endpoint, url, origin: 'card-relative' }))
  })
  const keys = new Set(endpoints.map(keyOf))
  return relative.filter((endpoint) => !keys.has(keyOf(endpoint)) && keys.add(keyOf(endpoint)))
}

/** Adds the endpoints of an interface for a version. */
function addEndpoints(
  endpoints: Endpoint[],
  { binding: bindingName, url: address, tenant }: AgentInterface,
  version: string,
  origin: Endpoint['origin'],
  { dialects, bindings, addressOf }: EndpointOptions,
): void {
  const binding = bindings.find((name) => name === normalizeBinding(bindingName))
  const url = binding && addressOf ? addressOf(binding, address) : address
  if (!binding || !URL.canParse(url)) return
  for (const dialect of dialects) {
    const hasVersion = dialect.version === version || dialect.olderEqualVersion === version
    if (!hasVersion || !dialect.bindings.includes(binding)) continue
    const isListed = endpoints.some(
      (endpoint) => endpoint.url === url && endpoint.binding === binding && isEquivalent(endpoint, dialect, binding),
    )
    if (!isListed) endpoints.push({ url, binding, dialect, origin, tenant: tenant || undefined })
  }
}

/** Cards that are written by hand name bindings in many ways: `json-rpc`, `rest`, `http/json`. */
function normalizeBinding(name: string): string {
  const letters = name.toUpperCase().replaceAll(/[^A-Z]/g, '')
  if (/^(REST|HTTP|HTTPJSON)$/.test(letters)) return 'HTTP+JSON'
  return /^(JSONRPC|GRPC)$/.test(letters) ? letters : name
}

/** Over JSON-RPC, an agent that lacks the send method of one dialect also lacks the same method of another. */
function isEquivalent(endpoint: Endpoint, dialect: DialectInfo, binding: Binding): boolean {
  if (endpoint.dialect === dialect) return true
  // An agent may refuse a version and speak the one that it adds to.
  if (endpoint.dialect.extendsVersion !== dialect.extendsVersion) return false
  return binding === 'JSONRPC' && endpoint.dialect.sendMethod === dialect.sendMethod
}

/** Major.Minor. An unknown 1.x version is compatible with 1.0. */
function versionOf({ protocolVersion }: AgentInterface, dialects: readonly DialectInfo[]): string {
  const [, major, minor = '0'] = /^\s*(\d+)(?:\.(\d+))?(?:\.\d+)?\s*$/.exec(protocolVersion) ?? []
  const version = `${major}.${minor}`
  return major === '1' && !dialects.some((dialect) => dialect.version === version) ? '1.0' : version
}

function keyOf({ url, binding, dialect }: Endpoint): string {
  return `${binding} ${dialect.name} ${new URL(url).href}`
}
