import { apiKey, hashApiKey, newApiKey } from '../../../src/entries/auth.ts'

/** Issues a key to a caller. The caller must keep it: the server stores only its hash. */
export async function issueKey(id: string) {
  const key = newApiKey()
  return { key, stored: { id, tenant: 'acme', scopes: ['reports:read'], hash: await hashApiKey(key) } }
}

type IssuedKey = Awaited<ReturnType<typeof issueKey>>['stored']

/** A list of keys. For keys in a database: `keys: async (hash) => await database.keyByHash(hash)`. */
export function byKey(keys: readonly IssuedKey[]) {
  return { schemes: { ci: apiKey({ keys }) }, require: [{ ci: ['reports:read'] }] }
}
