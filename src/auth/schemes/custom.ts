import type { SecurityScheme } from '../../protocol/card.ts'
import type { Principal } from '../../protocol/model.ts'
import { type AuthRequest, authFailure, challengeOf, type Scheme } from '../scheme.ts'

export interface CustomOptions {
  /** What the card says of it. */
  readonly card: SecurityScheme
  /** Its part of `WWW-Authenticate`. By default, what the card says. */
  readonly challenge?: string
  /**
   * Who is calling: undefined if the request has no credentials of this kind, `false` if they are wrong. What it throws
   * is logged, and the caller is refused.
   */
  readonly authenticate: (presented: AuthRequest) => Answer | Promise<Answer>
}

/** A way of your own. */
export function custom({ card, challenge, authenticate }: CustomOptions): Scheme {
  return {
    card,
    challenge: ({ realm, scopes, error }) =>
      challenge ?? challengeOf(nameOf(card), { realm, scope: scopes.join(' '), error }),
    async authenticate(presented) {
      const principal = await authenticate(presented)
      if (principal === false) return authFailure('the credentials are wrong')
      return principal && { principal }
    },
  }
}

type Answer = Principal | false | undefined

function nameOf(card: SecurityScheme): string {
  switch (card.type) {
    case 'http':
      return card.scheme
    case 'api-key':
      return 'ApiKey'
    case 'oauth2':
    case 'openid':
      return 'Bearer'
    case 'mutual-tls':
      return 'MutualTLS'
  }
}
