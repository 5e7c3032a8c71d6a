import type { AgentCard, AgentInterface } from '../protocol/card.ts'
import type { Binding, DialectInfo } from './dialect.ts'

export interface EndpointOptions {
  readonly dialects: readonly DialectInfo[]
  readonly bindings: readonly Binding[]
  /** The version that is as likely as the one of the card. */
  readonly alternativeVersion?: string
  /** Where the card was found. */
  readonly cardUrl?: string
  /** The URL of what a card has as an address, for bindings that dial something else. */
  readonly addressOf?: (binding: Binding, address: string) => string
}

/** One way to reach an agent. */
export interface Endpoint {
  readonly url: string
  readonly binding: Binding
  readonly dialect: DialectInfo
  readonly tenant?: string
  /**
   * Whether the card names it. Others are tried when it proves wrong: the card may be of another version than what is
   * behind it (`skew`), or name an address that only its author can reach (`relative`).
   */
  readonly origin: 'card' | 'skew' | 'relative'
}

/** The doors that a card names, in its order. */
export function endpointsOf({ interfaces }: AgentCard, options: EndpointOptions): readonly Endpoint[] {
  const doors: Endpoint[] = []
  for (const each of interfaces) {
    addEndpoints(doors, each, spokenAt(each), 'card', options)
    if (options.alternativeVersion) addEndpoints(doors, each, options.alternativeVersion, 'card', options)
  }
  return doors
}

/** The doors that are behind those a card names if it is mistaken in the versions. */
export function otherVersionEndpoints(
  { interfaces }: AgentCard,
  named: readonly Endpoint[],
  options: EndpointOptions,
): readonly Endpoint[] {
  const doors = [...named]
  const versions = new Set(options.dialects.map(({ version }) => version))
  for (const each of interfaces) for (const version of versions) addEndpoints(doors, each, version, 'skew', options)
  return doors.slice(named.length)
}

/** The same on another origin: that of the card, which was reached. */
export function cardRelativeEndpoints(doors: readonly Endpoint[], cardUrl: string): readonly Endpoint[] {
  const base = new URL(cardUrl.replace(/\/\.well-known\/.*$/s, '/'))
  const relative = doors.flatMap((door): Endpoint[] => {
    const { pathname, search } = new URL(door.url)
    const urls = [new URL(`${pathname}${search}`, base.origin).href, new URL('.', base).href]
    return urls.map((url) => ({ ...door, url, origin: 'relative' }))
  })
  const known = new Set(doors.map(keyOf))
  return relative.filter((door) => !known.has(keyOf(door)) && known.add(keyOf(door)))
}

/** Adds what is behind an interface if a version is spoken there. */
function addEndpoints(
  doors: Endpoint[],
  { binding: named, url: address, tenant }: AgentInterface,
  version: string,
  origin: Endpoint['origin'],
  { dialects, bindings, addressOf }: EndpointOptions,
): void {
  const binding = bindings.find((known) => known === bindingOf(named))
  const url = binding && addressOf ? addressOf(binding, address) : address
  if (!binding || !URL.canParse(url)) return
  for (const dialect of dialects) {
    const isKnown = doors.some(
      (door) => door.url === url && door.binding === binding && isAlike(door, dialect, binding),
    )
    if (dialect.version !== version || !dialect.bindings.includes(binding) || isKnown) continue
    doors.push({ url, binding, dialect, origin, ...(tenant && { tenant }) })
  }
}

function bindingOf(name: string): string {
  return otherNames.get(name.toUpperCase().replaceAll(/[^A-Z]/g, '')) ?? name
}

/** Cards are written by hand. */
const otherNames: ReadonlyMap<string, Binding> = new Map<string, Binding>([
  ['JSONRPC', 'JSONRPC'],
  ['REST', 'HTTP+JSON'],
  ['HTTPJSON', 'HTTP+JSON'],
  ['HTTP', 'HTTP+JSON'],
  ['GRPC', 'GRPC'],
])

/** Over JSON-RPC, who does not know a method of one version does not know the same one of another. */
function isAlike(door: Endpoint, dialect: DialectInfo, binding: Binding): boolean {
  if (door.dialect === dialect) return true
  return binding === 'JSONRPC' && door.dialect.sendMethod === dialect.sendMethod
}

/** Major.Minor. A minor version that we do not know yet is one that knows ours. */
function spokenAt({ protocolVersion }: AgentInterface): string {
  const [, major, minor = '0'] = /^\s*(\d+)(?:\.(\d+))?(?:\.\d+)?\s*$/.exec(protocolVersion) ?? []
  return major === '1' ? '1.0' : `${major}.${minor}`
}

function keyOf({ url, binding, dialect }: Endpoint): string {
  return `${binding} ${dialect.name} ${new URL(url).href}`
}
