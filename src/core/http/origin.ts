import type { Incoming } from './exchange.ts'

export interface OriginOptions {
  /** The URL at which callers reach the handler. Takes precedence over all request headers. */
  readonly publicUrl?: string
  /** Trusts `Forwarded` and `X-Forwarded-*`. Enable only behind a proxy that sets them itself. */
  readonly trustProxy?: boolean
}

/** The URL at which callers reach the handler, without a trailing slash. */
export function originOf(
  incoming: Pick<Incoming, 'header' | 'secure' | 'base'>,
  { publicUrl, trustProxy = false }: OriginOptions,
): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  const forwarded = trustProxy ? readForwarded(incoming) : {}
  const proto = forwarded.proto ?? (incoming.secure ? 'https' : 'http')
  const host = [forwarded.host, incoming.header('host')].find(isHost) ?? 'localhost'
  return `${proto}://${host}${forwarded.prefix ?? ''}${incoming.base}`
}

/** Whether a host of a URL, or an address to listen on, is this machine only. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  return bare === 'localhost' || bare === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(bare)
}

/** Whether a proxy says that it has forwarded the request. */
export function isForwarded({ header }: Pick<Incoming, 'header'>): boolean {
  return forwardingHeaders.some((name) => header(name) !== undefined)
}

const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

function readForwarded({ header }: Pick<Incoming, 'header'>): Forwarded {
  const standard = parametersOfFirstElement(header('forwarded') ?? '')
  return {
    host: standard.get('host') ?? firstItem(header('x-forwarded-host')),
    proto: protoOf(standard.get('proto') ?? firstItem(header('x-forwarded-proto'))),
    prefix: prefixOf(firstItem(header('x-forwarded-prefix'))),
  }
}

interface Forwarded {
  readonly host?: string | undefined
  readonly proto?: 'http' | 'https' | undefined
  readonly prefix?: string | undefined
}

/** The parameters of the element that the outermost proxy wrote (RFC 7239 §4). */
function parametersOfFirstElement(header: string): ReadonlyMap<string, string> {
  const pair = /[\s;]*([\w-]+)=("(?:[^"\\]|\\.)*"|[^\s;,"]*)\s*(?=[;,]|$)/y
  const pairs = new Map<string, string>()
  for (let match = pair.exec(header); match !== null; match = pair.exec(header)) {
    const [, name = '', value = ''] = match
    pairs.set(name.toLowerCase(), value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value)
  }
  return pairs
}

function firstItem(list: string | undefined): string | undefined {
  return list?.split(',', 1)[0]?.trim()
}

function protoOf(value: string | undefined): 'http' | 'https' | undefined {
  const proto = value?.toLowerCase()
  return proto === 'http' || proto === 'https' ? proto : undefined
}

function prefixOf(value: string | undefined): string | undefined {
  return value !== undefined && /^(?:\/[\w.~%-]+)+\/?$/.test(value) ? value.replace(/\/$/, '') : undefined
}

/** The host is echoed into the card, so it must be unambiguously a host. */
function isHost(value: string | undefined): value is string {
  const isSafe = value !== undefined && /^(?:\w[\w.-]{0,252}|\[[\da-f:.]+\])(?::\d+)?$/i.test(value)
  return isSafe && URL.canParse(`http://${value}`)
}
