import { jwt } from '../../../src/entries/auth.ts'

/** `issuer` is a URL such as https://login.example.com; `audience` is the audience of tokens for this agent. */
export function byToken(issuer: string, audience: string) {
  const keys = { url: `${issuer}/jwks` }
  const corp = jwt({ issuer, audience, keys, algorithms: ['RS256', 'ES256'], clockSkew: 30, typ: 'at+jwt' })
  return { schemes: { corp }, require: [{ corp: ['read'] }] }
}
