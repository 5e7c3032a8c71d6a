import { hostOf } from './address-guard.ts'
import { type Cors, createOriginCheck } from './cors.ts'
import type { Incoming } from './exchange.ts'
import { isLoopback } from './origin.ts'

/** Accepted `Host` values to remember. Callers can vary the port. */
const maxRemembered = 100

export interface HostCheckOptions {
  /** Host names for which requests are accepted, besides those of this machine and the next two, or `any`. */
  readonly hosts: readonly string[] | 'any'
  /** The URL at which callers reach the server. */
  readonly publicUrl?: string | undefined
  /** The host name for which an agent is served. */
  readonly hostname?: string | undefined
  /** Origins of web pages that may call. */
  readonly cors?: Cors | undefined
}

/** Returns why a request is refused, or undefined. */
export type HostCheck = (request: Pick<Incoming, 'header'>) => string | undefined

/**
 * Keeps web pages of others away from a server that accepts callers without credentials because only this machine can
 * reach it. A page reaches it through a name of its own that resolves to this machine (DNS rebinding): then `Host` has
 * that name. Or it sends a request across origins: then `Origin` has its origin. Browsers let no page choose either header.
 * Undefined if every host is accepted.
 */
export function createHostCheck({ hosts, publicUrl, hostname, cors }: HostCheckOptions): HostCheck | undefined {
  if (hosts === 'any') return undefined
  const names = [...hosts, publicUrl && hostOf(new URL(publicUrl)), hostname]
  const accepted: ReadonlySet<string | undefined> = new Set(names.map((name) => name?.toLowerCase()))
  const allowsOrigin = createOriginCheck(cors)
  const remembered = new Set<string>()

  const isAccepted = (host: string | undefined) => host !== undefined && (isLocal(host) || accepted.has(host))

  function acceptsHost(host: string): boolean {
    if (remembered.has(host)) return true
    if (!isAccepted(parseHost(host))) return false
    if (remembered.size >= maxRemembered) remembered.clear()
    remembered.add(host)
    return true
  }

  return ({ header }) => {
    const host = header('host')
    // Only HTTP/1.0 has no Host, and no browser sends HTTP/1.0.
    if (host !== undefined && !acceptsHost(host)) return wrongHost
    const origin = header('origin')
    if (origin === undefined || isAccepted(parseOrigin(origin)) || allowsOrigin(origin)) return undefined
    return wrongOrigin
  }
}

const wrongHost =
  'This server does not serve the host that the request names. It accepts calls without credentials, so it answers ' +
  'only by a name of this machine, such as localhost: its operator can add others by publicUrl or http.hosts.'

const wrongOrigin =
  'Pages of this origin may not call this server. It accepts calls without credentials, so it answers only pages of ' +
  'this machine: its operator can add others by cors.'

/** The name in a `Host` header. Undefined if the header is anything but a host and a port. */
function parseHost(host: string): string | undefined {
  const isPlain = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i.test(host)
  return isPlain && URL.canParse(`http://${host}`) ? hostOf(new URL(`http://${host}`)) : undefined
}

/** The host of a page. Undefined for pages without one, whose origin is `null` or of a browser extension. */
function parseOrigin(origin: string): string | undefined {
  return /^https?:/i.test(origin) && URL.canParse(origin) ? hostOf(new URL(origin)) : undefined
}

/** Browsers resolve every name below `localhost` to this machine, without DNS (RFC 6761 §6.3). */
function isLocal(host: string): boolean {
  return isLoopback(host) || host.endsWith('.localhost')
}
