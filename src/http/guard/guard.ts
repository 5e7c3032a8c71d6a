import { isWithin, type Network, parseAddress, parseNetwork, rangeOf } from './address-range.ts'
import { badPorts } from './bad-ports.ts'
import { type Refusal, RequestRefused } from './request-refused.ts'

export interface GuardOptions {
  /** What may be asked over. `https` and `http` by default. */
  readonly schemes?: readonly ('https' | 'http')[]
  /**
   * What may be asked although it is not public: hosts (`agents.internal`), all below one (`*.agents.internal`),
   * addresses, and ranges of them (`10.1.0.0/16`). A host that is named here may be at any address.
   */
  readonly allow?: readonly string[]
  /** What this machine itself offers: in development it is asked, with one warning. */
  readonly loopback?: 'allow' | 'warn' | 'refuse'
  /** Told once, with `loopback: 'warn'`. */
  readonly warn?: (host: string) => void
}

/** Says which addresses may be asked. Both throw `RequestRefused`. */
export interface Guard {
  /** As far as that can be told before its host is looked up. */
  checkUrl(url: URL): void
  /** Where the name of a host has led. */
  checkAddress(host: string, address: string): void
}

export function createGuard(options: GuardOptions = {}): Guard {
  const { schemes = ['https', 'http'], allow = [], loopback = 'refuse', warn } = options
  const allowed = allow.map(parseAllowed)
  let isWarned = false

  function refuse(reason: Refusal, host: string, where = ''): void {
    if (reason !== 'loopback' || loopback === 'refuse')
      throw new RequestRefused(reason, `${host}${where} ${why[reason]}`)
    if (loopback === 'allow' || isWarned) return
    isWarned = true
    warn?.(host)
  }

  function checkLiteral(host: string, address: string): void {
    const parsed = parseAddress(address)
    if (!parsed) throw new RequestRefused('bad-url', `${host} leads to ${address}, which is no address`)
    const reason = rangeOf(parsed)
    if (reason === undefined) return
    const isNamed = allowed.some(
      ({ network }) => network && isAllowedBy(network, reason, () => isWithin(parsed, network)),
    )
    if (!isNamed) refuse(reason, host, host === address ? '' : ` leads to ${address}, which`)
  }

  return {
    checkUrl(url) {
      const { protocol, username, password, port } = url
      const host = hostOf(url)
      if (!(schemes as readonly string[]).includes(protocol.slice(0, -1))) {
        throw new RequestRefused(
          'scheme',
          `${protocol} is none of the schemes that may be asked: ${schemes.join(', ')}`,
        )
      }
      if (username !== '' || password !== '') {
        throw new RequestRefused(
          'userinfo',
          `the address of ${host} has a name or password in it: give credentials apart`,
        )
      }
      if (badPorts.has(Number(port === '' ? 80 : port))) {
        throw new RequestRefused('port', `port ${port} of ${host} is one of another protocol than HTTP`)
      }
      if (isHostAllowed(host, allowed)) return
      if (parseAddress(host)) checkLiteral(host, host)
      else if (isLocalName(host)) refuse('loopback', host)
      else if (metadataNames.has(host)) refuse('metadata', host)
    },
    checkAddress(host, address) {
      if (!isHostAllowed(host, allowed)) checkLiteral(host, address)
    },
  }
}

/** As it is looked up: lower-case, without brackets, and without the dot that ends a full name. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

interface Allowed {
  readonly host: string
  readonly network: Network | undefined
}

function parseAllowed(text: string): Allowed {
  const host = text.toLowerCase()
  const network = parseNetwork(text)
  if (network || /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host)) return { host, network }
  const expected = 'a host, *.domain, an address or a range such as 10.0.0.0/8'
  throw new TypeError(`allow: ${JSON.stringify(text)} is none of ${expected}`)
}

function isHostAllowed(host: string, allowed: readonly Allowed[]): boolean {
  return allowed.some(({ host: name }) => name === host || (name.startsWith('*.') && host.endsWith(name.slice(1))))
}

/** Nobody who allows a range means the keys of the machine, which are to be named themselves. */
function isAllowedBy([, bits]: Network, reason: Refusal, isInside: () => boolean): boolean {
  return (reason !== 'metadata' || bits === 32 || bits === 128) && isInside()
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

const why: Readonly<Record<Refusal, string>> = {
  'bad-url': 'is no address',
  scheme: 'has a scheme that may not be asked',
  userinfo: 'has credentials in its address',
  port: 'is at a port of another protocol',
  metadata: 'has the keys of cloud machines',
  loopback: 'is this machine',
  private: 'is in a private network',
  'link-local': 'is only in the local network',
  shared: 'is in the network of a carrier',
  multicast: 'is not one machine',
  unspecified: 'is no machine',
  translated: 'hides another address',
  reserved: 'is not in the public internet',
  redirect: 'redirects',
  downgrade: 'redirects away from TLS',
}
