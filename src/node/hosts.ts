import type { IncomingMessage } from 'node:http'

/** RFC 9112 §3.2: a request of HTTP/1.1 has exactly one `Host`. Of two, a proxy may have believed the other. */
export function hasOneHost({ rawHeaders, httpVersionMinor }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0)
}
