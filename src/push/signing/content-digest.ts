import { isEqual } from '../../auth/digest.ts'
import { fromBase64, toBase64 } from './base64.ts'

const algorithms: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'SHA-256'],
  ['sha-512', 'SHA-512'],
])

/** RFC 9530: the digest of a body, as a header. */
export async function contentDigest(body: Uint8Array): Promise<string> {
  return `sha-256=:${toBase64(await digest('SHA-256', body))}:`
}

/** Whether a header has the digest of this body. One by algorithms that are not known proves nothing. */
export async function isDigestOf(header: string, body: Uint8Array): Promise<boolean> {
  let matched = false
  for (const [, name = '', value = ''] of header.matchAll(/([a-z\d-]+)=:([A-Za-z\d+/]*={0,2}):/g)) {
    const algorithm = algorithms.get(name)
    if (!algorithm) continue
    const told = fromBase64(value)
    if (!told || !isEqual(told, await digest(algorithm, body))) return false
    matched = true
  }
  return matched
}

export async function digest(algorithm: string, body: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest(algorithm, Uint8Array.from(body)))
}
