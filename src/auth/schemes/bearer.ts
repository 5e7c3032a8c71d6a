import type { SecurityScheme } from '../../protocol/security.ts'
import { bearerChallenge } from '../challenge.ts'
import { confirmed } from '../confirmation.ts'
import { authorizationOf } from '../credentials.ts'
import type { TokenCheck } from '../jwt-tokens.ts'
import type { Scheme } from '../scheme.ts'

/** Every scheme whose callers bring a token (RFC 6750), however it is checked. */
export function bearer(card: SecurityScheme, check: TokenCheck, authority: string | undefined): Scheme {
  return {
    card,
    challenge: bearerChallenge,
    ...(authority !== undefined && { authority }),
    authenticate(presented) {
      const token = authorizationOf(presented, 'bearer')
      if (typeof token !== 'string') return token
      const verdict = check(token)
      return verdict instanceof Promise
        ? verdict.then((late) => confirmed(late, presented))
        : confirmed(verdict, presented)
    },
  }
}
