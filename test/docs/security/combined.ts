import { type AuthOptions, apiKey, openId, type StoredKey } from '../../../src/entries/auth.ts'

/** Employees with a token, or programs with a token and a key. */
export function byTokenOrKeyAndToken(issuer: string, audience: string, keys: readonly StoredKey[]): AuthOptions {
  return {
    schemes: { corp: openId({ issuer, audience }), ci: apiKey({ keys }) },
    require: [{ corp: ['read'] }, { corp: [], ci: ['reports:read'] }],
  }
}
