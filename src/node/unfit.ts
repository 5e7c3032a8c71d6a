import type { IncomingMessage } from 'node:http'
import type { Fault } from './refuse.ts'

/**
 * What is wrong with a request that Node takes for one: whatever a proxy in front of us may have understood in another
 * way. RFC 9112 §3.2 (one `Host`), §6.1 (no coding that we do not know, none in HTTP/1.0), §2.3 (no other version).
 */
export function faultIn({ rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage): Fault | undefined {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      if (httpVersionMinor === 0) return { code: 'OLD_TRANSFER_ENCODING' }
      if (rawHeaders[at + 1]?.toLowerCase() !== 'chunked') return { code: 'OTHER_TRANSFER_ENCODING' }
    }
  }
  if (httpVersionMajor !== 1) return { code: 'OTHER_VERSION' }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0) ? undefined : { code: 'NOT_ONE_HOST' }
}
