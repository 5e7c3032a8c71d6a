import ipaddr from 'ipaddr.js'
import type { Refusal } from './request-refused.ts'

type Address = ReturnType<typeof ipaddr.parse>

/** An address as a number, whatever form it was written in; IPv6 forms of IPv4 become what they mean. */
export function parseAddress(text: string): Address | undefined {
  const bare = text.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined
}

/** What is wrong with calling this address from inside a network; undefined if it is one of the public internet. */
export function rangeOf(address: Address): Refusal | undefined {
  if (isMetadata(address)) return 'metadata'
  const range = address.range()
  if (range === 'unicast') return isGlobal(address) ? undefined : 'reserved'
  return ranges[range] ?? 'reserved'
}

/** Whether an address is in `10.0.0.0/8`, or is `10.0.0.1` itself. */
export function isWithin(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits)
}

export type Network = readonly [address: Address, bits: number]

export function parseNetwork(text: string): Network | undefined {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  const address = parseAddress(text)
  return address && [address, address.kind() === 'ipv4' ? 32 : 128]
}

const ranges: Readonly<Record<string, Refusal>> = {
  loopback: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  deprecatedSiteLocal: 'private',
  linkLocal: 'link-local',
  carrierGradeNat: 'shared',
  multicast: 'multicast',
  broadcast: 'multicast',
  unspecified: 'unspecified',
  // Each of them has an IPv4 address inside, which some router on the way takes out.
  rfc6052: 'translated',
  rfc6145: 'translated',
  '6to4': 'translated',
  teredo: 'translated',
}

/** Of the clouds: who asks them gets the keys of the machine. One of them is in a public range. */
const metadata = ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192']
  .concat(['fd00:ec2::254', 'fd20:ce::254'])
  .map((text) => ipaddr.parse(text).toNormalizedString())

function isMetadata(address: Address): boolean {
  return metadata.includes(address.toNormalizedString())
}

/** All that is given out of IPv6 so far (RFC 4291 §2.4). */
const global6: Network = [ipaddr.parse('2000::'), 3]

function isGlobal(address: Address): boolean {
  return address.kind() === 'ipv4' || isWithin(address, global6)
}
