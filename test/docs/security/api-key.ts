import { apiKey, hashApiKey, newApiKey } from '../../../src/entries/auth.ts'

/** Once for each caller, who must keep the key: nobody can read it again. What is kept here is its hash. */
export async function issueKey(id: string) {
  const key = newApiKey()
  return { key, stored: { id, tenant: 'acme', scopes: ['reports:read'], hash: await hashApiKey(key) } }
}

type Stored = Awaited<ReturnType<typeof issueKey>>['stored']

/** Keys that are known when the server starts; or `keys: async (hash) => await database.keyByHash(hash)`. */
export function byKey(keys: readonly Stored[]) {
  return { schemes: { ci: apiKey({ keys }) }, require: [{ ci: ['reports:read'] }] }
}
