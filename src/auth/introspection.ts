import { A2AError } from '../protocol/errors.ts'
import { fetchJson, requireSecureUrl } from './fetch-json.ts'
import { type ClaimsOptions, readClaims, type TokenCheck } from './jwt.ts'
import { type AuthResult, authFailure, withExpiry } from './scheme.ts'
import { createTokenCache } from './token-cache.ts'

/** Anybody can make up tokens: so many are looked up at once, and no more wait. */
const maxLookups = 64

export interface IntrospectionOptions extends ClaimsOptions {
  /** Where tokens are looked up (RFC 7662). */
  readonly url: string | URL
  /** By which this agent proves there who it is. */
  readonly clientId: string
  readonly clientSecret: string
  /** The `iss` that tokens must have, if it is told. */
  readonly issuer?: string
  /** The `aud` that tokens must have, one of them. */
  readonly audience?: string | readonly string[]
  /** Seconds for which an answer is believed: so long a withdrawn token may still be good. 30 by default. */
  readonly cacheFor?: number
}

/** Tokens that only their issuer can read. */
export function introspectedTokens(options: IntrospectionOptions): TokenCheck {
  const { clientId, clientSecret, issuer, audience, cacheFor = 30 } = options
  const url = requireSecureUrl('introspection.url', options.url)
  const authorization = `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)}`
  const verified = createTokenCache<AuthResult>()
  let lookups = 0

  async function ask(token: string) {
    const claims = await fetchJson(url, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    })
    const now = Date.now()
    const { active, exp, nbf, aud, iss = issuer } = claims
    if (active !== true) return { value: authFailure('the token is not active') }
    if (typeof exp === 'number' && exp * 1000 <= now) return { value: authFailure('the token has expired') }
    if (typeof nbf === 'number' && nbf * 1000 > now) return { value: authFailure('the token is not good yet') }
    if (issuer !== undefined && iss !== issuer) return { value: authFailure('the token is of another issuer') }
    const audiences = [aud].flat()
    if (audience !== undefined && ![audience].flat().some((each) => audiences.includes(each))) {
      return { value: authFailure('the token is for another audience') }
    }
    const value = readClaims(claims, options)
    if (!value || 'reason' in value) return { value }
    const until = now + cacheFor * 1000
    if (typeof exp !== 'number') return { value, until }
    return { value: withExpiry(value, exp * 1000), until: Math.min(until, exp * 1000) }
  }

  return (token) =>
    verified.of(token, async () => {
      if (lookups >= maxLookups)
        throw new A2AError('unavailable', 'Too many tokens are being looked up.', { retryAfter: 1 })
      lookups++
      try {
        return await ask(token)
      } catch (error) {
        return { value: authFailure('the token cannot be looked up', error) }
      } finally {
        lookups--
      }
    })
}
