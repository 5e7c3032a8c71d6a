import type { JsonObject } from '../base/json.ts'
import { A2AError } from '../protocol/errors.ts'
import { fetchJson, requireSecureUrl } from './fetch-json.ts'
import { type ClaimsOptions, readClaims, type TokenCheck } from './jwt.ts'
import { type AuthResult, authFailure, withExpiry } from './scheme.ts'
import { createTokenCache, type Verification } from './token-cache.ts'

/** Lookups at once. Anyone can send made-up tokens, so further ones are rejected instead of queued. */
const maxLookups = 64

export interface IntrospectionOptions extends ClaimsOptions {
  /** The introspection endpoint (RFC 7662). */
  readonly url: string | URL
  /** Credentials of this agent at the endpoint. */
  readonly clientId: string
  readonly clientSecret: string
  /** The `iss` that tokens must have, if the endpoint returns one. */
  readonly issuer?: string
  /** The `aud` that tokens must have, one of them. */
  readonly audience?: string | readonly string[]
  /** Seconds for which a response is cached. A revoked token is accepted for as long. Defaults to 30. */
  readonly cacheFor?: number
}

/** Checks tokens that only their issuer can read. */
export function introspectedTokens(options: IntrospectionOptions): TokenCheck {
  const url = requireSecureUrl('introspection.url', options.url)
  const authorization = basicAuthorization(options)
  const cache = createTokenCache<AuthResult>()
  let lookups = 0

  async function lookUp(token: string): Promise<Verification<AuthResult>> {
    const claims = await fetchJson(url, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    })
    return checkClaims(claims, options)
  }

  return (token) =>
    cache.get(token, async () => {
      if (lookups >= maxLookups) {
        throw new A2AError('unavailable', 'Too many tokens are being looked up.', { retryAfter: 1 })
      }
      lookups++
      try {
        return await lookUp(token)
      } catch (error) {
        return { value: authFailure('the token cannot be looked up', error) }
      } finally {
        lookups--
      }
    })
}

/** RFC 6749 §2.3.1. */
function basicAuthorization({ clientId, clientSecret }: IntrospectionOptions): string {
  return `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)}`
}

function checkClaims(claims: JsonObject, options: IntrospectionOptions): Verification<AuthResult> {
  const { issuer, audience, cacheFor = 30 } = options
  const { active, exp, nbf, aud, iss = issuer } = claims
  const now = Date.now()
  if (active !== true) return { value: authFailure('the token is not active') }
  if (typeof exp === 'number' && exp * 1000 <= now) return { value: authFailure('the token has expired') }
  if (typeof nbf === 'number' && nbf * 1000 > now) return { value: authFailure('the token is not valid yet') }
  if (issuer !== undefined && iss !== issuer) return { value: authFailure('the token is of another issuer') }
  const audiences = [aud].flat()
  if (audience !== undefined && ![audience].flat().some((name) => audiences.includes(name))) {
    return { value: authFailure('the token is for another audience') }
  }
  const value = readClaims(claims, options)
  if (!value || 'reason' in value) return { value }
  const until = now + cacheFor * 1000
  if (typeof exp !== 'number') return { value, until }
  return { value: withExpiry(value, exp * 1000), until: Math.min(until, exp * 1000) }
}
