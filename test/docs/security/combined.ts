import { type AuthOptions, apiKey, openId, type StoredKey } from '../../../src/entries/auth.ts'

/** People of the company, or programs with a key that come with a token, too. */
export function byOneOrBoth(issuer: string, audience: string, keys: readonly StoredKey[]): AuthOptions {
  return {
    schemes: { corp: openId({ issuer, audience }), ci: apiKey({ keys }) },
    require: [{ corp: ['read'] }, { corp: [], ci: ['reports:read'] }],
  }
}
