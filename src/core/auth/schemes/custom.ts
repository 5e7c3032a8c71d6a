import { aFunction, checkOptions, having, text } from '../../base/options.ts'
import type { SecurityScheme } from '../../protocol/card.ts'
import type { Principal } from '../../protocol/model.ts'
import { type AuthRequest, authFailure, challengeOf, type Scheme } from '../scheme.ts'

/** Options of `custom`. */
export interface CustomOptions {
  /** The scheme as the card declares it. */
  readonly card: SecurityScheme
  /** Its part of `WWW-Authenticate`. Defaults to a challenge that fits the card. */
  readonly challenge?: string
  /**
   * Returns the principal of a request: undefined if it has no credentials of this kind, `false` if they are wrong. An
   * error, or no answer within `timeout` of `auth`, is logged, and the caller is rejected.
   */
  readonly authenticate: (request: AuthRequest) => CustomResult | Promise<CustomResult>
}

/** Accepts callers by a check of your own. */
export function custom(options: CustomOptions): Scheme {
  const { card, challenge, authenticate } = options
  const cardCheck = having("a scheme as the card declares it, such as { type: 'http', scheme: 'bearer' }", 'type')
  checkOptions('custom', options, { card: cardCheck, challenge: text, authenticate: aFunction }, [
    'card',
    'authenticate',
  ])
  return {
    card,
    challenge: ({ realm, scopes, error }) =>
      challenge ?? challengeOf(challengeName(card), { realm, scope: scopes.join(' '), error }),
    async authenticate(request) {
      const principal = await authenticate(request)
      if (principal === undefined) return undefined
      // A database may return `null` for an unknown key.
      return principal ? { principal } : authFailure('the credentials are wrong')
    },
  }
}

type CustomResult = Principal | false | undefined

function challengeName(card: SecurityScheme): string {
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
