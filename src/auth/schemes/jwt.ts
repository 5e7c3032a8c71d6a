import { authorityOf } from '../claims.ts'
import { type JwtRules, jwtTokens, type KeySource } from '../jwt-tokens.ts'
import type { Scheme } from '../scheme.ts'
import { bearer } from './bearer.ts'

export interface JwtOptions extends JwtRules {
  readonly keys: KeySource
  readonly description?: string
}

/** A signed token of an issuer (RFC 7519, RFC 9068). */
export function jwt({ keys, description, ...rules }: JwtOptions): Scheme {
  const card = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const
  return bearer(
    { ...card, ...(description !== undefined && { description }) },
    jwtTokens(rules, keys),
    authorityOf(rules, rules.issuer),
  )
}
