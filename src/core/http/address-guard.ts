import ipaddr from 'ipaddr.js'
import { isLoopback } from './origin.ts'

/** The only IPv6 range allocated for global unicast so far (RFC 4291 §2.4). */
const allocatedIpv6: Network = [ipaddr.parse('2000::'), 3]

/** Also true for errors from another copy of this module, such as one in another bundle. */
export function isRequestRefused(error: unknown): error is RequestRefused {
  return error instanceof Error && 'code' in error && error.code === 'ERR_REQUEST_REFUSED' && 'reason' in error
}

export interface GuardOptions {
  /** Defaults to `https` and `http`. */
  readonly schemes?: readonly ('https' | 'http')[]
  /**
   * Destinations that may be called although they are not public: hosts (`agents.internal`), all hosts of a domain
   * (`*.agents.internal`), addresses and address ranges (`10.1.0.0/16`). A listed host may resolve to any address.
   */
  readonly allow?: readonly string[]
  /** Whether this machine may be called. Defaults to `refuse`. */
  readonly loopback?: LoopbackRule
}

/** Whether addresses of this machine may be called. */
export type LoopbackRule = 'allow' | 'refuse'

/** Decides which addresses may be called. Both methods throw `RequestRefused`. */
export interface Guard {
  /** Checks what is known before the host is resolved. */
  checkUrl(url: URL): void
  /** Checks an address that a host has resolved to. */
  checkAddress(host: string, address: string): void
}

/** Why a request was refused. */
export type RefusalReason =
  | 'bad-url'
  | 'scheme'
  | 'userinfo'
  | 'port'
  | 'metadata'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'shared'
  | 'multicast'
  | 'unspecified'
  | 'translated'
  | 'reserved'
  /** The response is a redirect, and redirects are not allowed. */
  | 'redirect'
  | 'downgrade'

export function createGuard(options: GuardOptions = {}): Guard {
  const { schemes = ['https', 'http'], allow = [], loopback = 'refuse' } = options
  if (loopback !== 'allow' && loopback !== 'refuse') {
    throw new TypeError(`loopback: expected 'allow' or 'refuse', got ${JSON.stringify(loopback)}`)
  }
  const allowed = allow.map(parseAllowed)

  function refuse(reason: RefusalReason, host: string, where = ''): void {
    if (reason === 'loopback' && loopback === 'allow') return
    throw new RequestRefused(reason, `${host}${where} ${reasonTexts[reason]}`, allowHint(host))
  }

  function checkParsed(host: string, address: string, parsed: Address): void {
    const reason = refusalReasonOf(parsed)
    if (reason === undefined) return
    const isListed = allowed.some(
      ({ network }) => network && isAllowedBy(network, reason, () => isWithin(parsed, network)),
    )
    if (!isListed) refuse(reason, host, host === address ? '' : ` resolves to ${address}, which`)
  }

  function checkHost(host: string): void {
    const parsed = parseAddress(host)
    if (parsed) checkParsed(host, host, parsed)
    else if (isLocalName(host)) refuse('loopback', host)
    else if (metadataNames.has(host)) refuse('metadata', host)
  }

  function wrongScheme(protocol: string): RequestRefused {
    return new RequestRefused('scheme', `${protocol} is not an allowed scheme, which are ${schemes.join(', ')}`)
  }

  return {
    checkUrl(url) {
      const { protocol, username, password, port } = url
      const host = hostOf(url)
      const isSchemeAllowed = (schemes as readonly string[]).includes(protocol.slice(0, -1))
      // For `http://localhost`, the address says more about what to change than the scheme.
      if (!isSchemeAllowed && protocol !== 'http:') throw wrongScheme(protocol)
      if (username !== '' || password !== '') {
        throw new RequestRefused(
          'userinfo',
          `the URL of ${host} contains a user name or password: pass credentials separately`,
        )
      }
      if (badPorts.has(Number(port === '' ? 80 : port))) {
        throw new RequestRefused('port', `port ${port} of ${host} belongs to another protocol than HTTP`)
      }
      if (!isHostAllowed(host, allowed)) checkHost(host)
      if (!isSchemeAllowed) throw wrongScheme(protocol)
    },
    checkAddress(host, address) {
      if (isHostAllowed(host, allowed)) return
      const parsed = parseAddress(address)
      if (!parsed) throw new RequestRefused('bad-url', `${host} resolves to ${address}, which is not an address`)
      checkParsed(host, address, parsed)
    },
  }
}

/** The guard refused to send a request. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  readonly code = 'ERR_REQUEST_REFUSED'
  readonly reason: RefusalReason
  /** How to allow the request, if an option does. */
  readonly hint: string | undefined

  constructor(reason: RefusalReason, detail: string, hint?: string) {
    super(detail)
    this.reason = reason
    this.hint = hint
  }
}

function allowHint(host: string): string {
  return isLoopback(host)
    ? "If the call is intended, allow it: connect(url, { fetch: createGuardedFetch({ loopback: 'allow' }) }), of parley-a2a/node, or serve(agent, { calls: { loopback: 'allow' } })."
    : `If the call is intended, allow it: { fetch: createGuardedFetch({ allow: ['${host}'] }) }, of parley-a2a/node.`
}

/** An IPv4 address as URLs and resolvers write it: no octet has a leading zero, which would make it octal. */
const dottedDecimal = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/** Parses an address in any notation. IPv4-mapped IPv6 addresses become IPv4. */
export function parseAddress(text: string): Address | undefined {
  // The usual form. The library parses it three times, with patterns for every other notation.
  if (dottedDecimal.test(text)) return new ipaddr.IPv4(text.split('.').map(Number))
  const bare = text.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined
}

/** Whether a URL names this machine, by the same rule by which a guard refuses it as `loopback`. */
export function isThisMachine(url: URL): boolean {
  const host = hostOf(url)
  const address = parseAddress(host)
  return address ? refusalReasonOf(address) === 'loopback' : isLocalName(host)
}

/** The host as it is resolved: without brackets and without the trailing dot of a fully qualified name. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

export type Network = readonly [address: Address, bits: number]

type Address = ReturnType<typeof ipaddr.parse>

function parseAllowed(text: string): Allowed {
  const host = text.toLowerCase()
  const network = parseNetwork(text)
  if (network || /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host)) return { host, network }
  const expected = 'a host, *.domain, an address or a range such as 10.0.0.0/8'
  throw new TypeError(`allow: ${JSON.stringify(text)} is none of ${expected}`)
}

interface Allowed {
  readonly host: string
  readonly network: Network | undefined
}

function parseNetwork(text: string): Network | undefined {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  const address = parseAddress(text)
  return address && [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** Metadata services of clouds, which hand out the keys of the machine. One of them is in a public range. */
const metadataAddresses = ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192']
  .concat(['fd00:ec2::254', 'fd20:ce::254'])
  .map((text) => ipaddr.parse(text).toNormalizedString())

const reasonTexts: Readonly<Record<RefusalReason, string>> = {
  'bad-url': 'is not a valid address',
  scheme: 'has a scheme that is not allowed',
  userinfo: 'has credentials in its URL',
  port: 'is at a port of another protocol',
  metadata: 'is a cloud metadata service',
  loopback:
    "is this machine, which is called only if it is allowed: by loopback: 'allow', an option of createGuardedFetch and " +
    "grpc, and of calls and push of serve; connect takes fetch: createGuardedFetch({ loopback: 'allow' })",
  private: 'is in a private network',
  'link-local': 'is only in the local network',
  shared: 'is in a carrier-grade NAT network',
  multicast: 'is a multicast address',
  unspecified: 'is the unspecified address',
  translated: 'embeds another address',
  reserved: 'is not in the public internet',
  redirect: 'redirects',
  downgrade: 'redirects away from TLS',
}

/** Why this address must not be called from inside a network; undefined for addresses of the public internet. */
function refusalReasonOf(address: Address): RefusalReason | undefined {
  if (isMetadata(address)) return 'metadata'
  const range = address.range()
  if (range === 'unicast') return isGlobal(address) ? undefined : 'reserved'
  return ranges[range] ?? 'reserved'
}

function isMetadata(address: Address): boolean {
  return metadataAddresses.includes(address.toNormalizedString())
}

function isGlobal(address: Address): boolean {
  return address.kind() === 'ipv4' || isWithin(address, allocatedIpv6)
}

/** Whether an address is in `10.0.0.0/8`, or is `10.0.0.1` itself. */
function isWithin(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits)
}

const ranges: Readonly<Record<string, RefusalReason>> = {
  loopback: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  deprecatedSiteLocal: 'private',
  linkLocal: 'link-local',
  carrierGradeNat: 'shared',
  multicast: 'multicast',
  broadcast: 'multicast',
  unspecified: 'unspecified',
  // These embed an IPv4 address, which a router may extract.
  rfc6052: 'translated',
  rfc6145: 'translated',
  '6to4': 'translated',
  teredo: 'translated',
}

/** A range does not include metadata services: each has to be listed by its own address. */
function isAllowedBy([, bits]: Network, reason: RefusalReason, isInside: () => boolean): boolean {
  return (reason !== 'metadata' || bits === 32 || bits === 128) && isInside()
}

/** Ports of protocols that may interpret an HTTP request as commands; browsers also block them (Fetch §2.9). */
const badPorts: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
])

function isHostAllowed(host: string, allowed: readonly Allowed[]): boolean {
  return allowed.some(({ host: name }) => name === host || (name.startsWith('*.') && host.endsWith(name.slice(1))))
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

const metadataNames: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
])
