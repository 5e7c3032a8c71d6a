import type { KeyRing } from '../auth/key-ring.ts'
import { etagOf, matches } from '../http/etag.ts'
import type { Incoming, Outgoing } from '../http/exchange.ts'

/** Where the keys are by which others know the signatures of an agent: of its card, and of what it pushes. */
export const jwksPath = '/.well-known/jwks.json'

/** The public keys as a JWK Set (RFC 7517). Whoever meets a key that is not among them asks again at once. */
export function createJwksPage(keys: Pick<KeyRing, 'published'>): (incoming: Incoming) => Promise<Outgoing> {
  return async (incoming) => {
    const body = JSON.stringify({ keys: await keys.published() })
    const etag = etagOf(body)
    const headers = { 'cache-control': 'public, max-age=300', etag }
    if (matches(incoming.header('if-none-match'), etag)) return { status: 304, headers }
    return { status: 200, headers: { ...headers, 'content-type': 'application/jwk-set+json' }, body }
  }
}
