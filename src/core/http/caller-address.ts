import { parseAddress } from './address-guard.ts'
import type { Incoming } from './exchange.ts'

/**
 * The network from which a request came: an IPv4 address, or the first 64 bits of an IPv6 address, which one caller has
 * alone. With `trustProxy`, it is the address that the proxy itself saw, which is the last in its header: a caller may
 * have sent earlier ones. Undefined if the platform does not expose the connection.
 */
export function callerNetwork(
  request: Pick<Incoming, 'header' | 'address'>,
  { trustProxy = false }: { readonly trustProxy?: boolean | undefined },
): string | undefined {
  const forwarded = trustProxy ? networkOf(lastForwarded(request)) : undefined
  return forwarded ?? networkOf(request.address?.())
}

function lastForwarded({ header }: Pick<Incoming, 'header'>): string | undefined {
  const standard = header('forwarded')
  if (standard === undefined) return header('x-forwarded-for')?.split(',').at(-1)
  return /(?:^|;)\s*for="?([^";]*)"?/i.exec(standard.split(',').at(-1) ?? '')?.[1]
}

function networkOf(text: string | undefined): string | undefined {
  // `192.0.2.1:4711` and `[2001:db8::1]:4711` have a port.
  const address = text?.trim().replace(/^(\[.*\]|[\d.]+):\d+$/, '$1')
  const parsed = address === undefined ? undefined : parseAddress(address)
  if (parsed === undefined) return undefined
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toNormalizedString().split(':').slice(0, 4).join(':')
}
