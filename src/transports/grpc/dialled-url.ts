/**
 * What clients of gRPC dial need not be a URL: mostly it is a host and its port. Whether TLS is spoken there is told by
 * the port or by how the card was got; in doubt it is.
 */
export function dialledUrl(address: string, cardUrl: string | undefined): string {
  if (/^https?:\/\//i.test(address)) return address
  if (/^grpcs?:\/\//i.test(address)) return address.replace(/^grpc/i, 'http')
  const bare = address.replace(/^(dns|ipv4|ipv6):\/*/i, '')
  const isPlain = cardUrl === undefined ? isThisMachine(bare) : cardUrl.startsWith('http:')
  return `${isPlain && !bare.endsWith(':443') ? 'http' : 'https'}://${bare}`
}

function isThisMachine(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])(:|$)/i.test(address)
}
