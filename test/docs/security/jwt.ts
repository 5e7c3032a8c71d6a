import { jwt } from '../../../src/entries/auth.ts'

/** Such as 'https://login.example.com', and what tokens for this agent name as their audience. */
export function byToken(issuer: string, audience: string) {
  const keys = { url: `${issuer}/jwks` }
  const corp = jwt({ issuer, audience, keys, algorithms: ['RS256', 'ES256'], clockSkew: 30, typ: 'at+jwt' })
  return { schemes: { corp }, require: [{ corp: ['read'] }] }
}
