import type { AgentCard, AgentInterface } from '../protocol/card.ts'
import type { Binding, KnownDialect } from './dialect.ts'
import { parseVersion } from './negotiate.ts'

/** One way to reach an agent. */
export interface Door {
  readonly url: string
  readonly binding: Binding
  readonly dialect: KnownDialect
  readonly tenant?: string
  /**
   * Whether the card names it. Others are tried when it proves wrong: the card may be of another version than what is
   * behind it (`skew`), or name an address that only its author can reach (`relative`).
   */
  readonly origin: 'card' | 'skew' | 'relative'
}

export interface DoorsOptions {
  readonly dialects: readonly KnownDialect[]
  readonly bindings: readonly Binding[]
  /** The version that is as likely as the one of the card. */
  readonly orElse?: string
  /** Where the card was found. */
  readonly cardUrl?: string
}

/** The doors that a card names, in its order, and then those that are behind it if it is mistaken. */
export function doorsOf({ interfaces }: AgentCard, options: DoorsOptions): readonly Door[] {
  const { dialects, bindings, orElse, cardUrl } = options
  const versions = new Set(dialects.map(({ version }) => version))
  const doors: Door[] = []
  const add = (each: AgentInterface, version: string, origin: Door['origin']) => {
    const binding = bindings.find((known) => known === bindingOf(each.binding))
    const url = binding === 'GRPC' ? dialledUrl(each.url, cardUrl) : each.url
    if (!binding || !URL.canParse(url)) return
    const { tenant } = each
    for (const dialect of dialects) {
      const isKnown = doors.some(
        (door) => door.url === url && door.binding === binding && isAlike(door, dialect, binding),
      )
      if (dialect.version !== version || !dialect.bindings.includes(binding) || isKnown) continue
      doors.push({ url, binding, dialect, origin, ...(tenant && { tenant }) })
    }
  }
  for (const each of interfaces) {
    add(each, spokenAt(each), 'card')
    if (orElse) add(each, orElse, 'card')
  }
  for (const each of interfaces) for (const version of versions) add(each, version, 'skew')
  return doors
}

/**
 * What clients of gRPC dial need not be a URL: mostly it is a host and its port. Whether TLS is spoken there is told by
 * the port or by how the card was got; in doubt it is.
 */
function dialledUrl(address: string, cardUrl: string | undefined): string {
  if (/^https?:\/\//i.test(address)) return address
  if (/^grpcs?:\/\//i.test(address)) return address.replace(/^grpc/i, 'http')
  const bare = address.replace(/^(dns|ipv4|ipv6):\/*/i, '')
  const isPlain = cardUrl === undefined ? isThisMachine(bare) : cardUrl.startsWith('http:')
  return `${isPlain && !bare.endsWith(':443') ? 'http' : 'https'}://${bare}`
}

function isThisMachine(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])(:|$)/i.test(address)
}

/** Over JSON-RPC, who does not know a method of one version does not know the same one of another. */
function isAlike(door: Door, dialect: KnownDialect, binding: Binding): boolean {
  if (door.dialect === dialect) return true
  return binding === 'JSONRPC' && door.dialect.sendMethod === dialect.sendMethod
}

/** A minor version that we do not know yet is one that knows ours. */
function spokenAt({ protocolVersion }: AgentInterface): string {
  const version = parseVersion(protocolVersion) ?? protocolVersion
  return version.startsWith('1.') ? '1.0' : version
}

/** The same on another origin: that of the card, which was reached. */
export function relativeDoors(doors: readonly Door[], cardUrl: string): readonly Door[] {
  const base = new URL(cardUrl.replace(/\/\.well-known\/.*$/s, '/'))
  const relative = doors.flatMap((door): Door[] => {
    const { pathname, search } = new URL(door.url)
    const urls = [new URL(`${pathname}${search}`, base.origin).href, new URL('.', base).href]
    return urls.map((url) => ({ ...door, url, origin: 'relative' }))
  })
  const known = new Set(doors.map(keyOf))
  return relative.filter((door) => !known.has(keyOf(door)) && known.add(keyOf(door)))
}

function keyOf({ url, binding, dialect }: Door): string {
  return `${binding} ${dialect.name} ${new URL(url).href}`
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
