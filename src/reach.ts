import type { LocalTarget, Reach } from './agent/calling.ts'
import type { Authorize } from './client/authorize.ts'
import type { Target } from './client/options.ts'
import type { Credentials } from './protocol/credentials.ts'

/** Finds agents as `connect` does, by what `parley-a2a/client` can. Loaded by those who ask others. */
export const reach: Reach = async (target, { auth, fetch, onSecret }) => {
  const { connect } = await import('./node/client.ts')
  const { byCard } = await import('./client/credentials/by-card.ts')
  const base = auth && byCard(auth, fetch ?? ((url, init) => globalThis.fetch(url, init)))
  const authorize: Authorize | undefined = base && (async (asked) => told(await base(asked), onSecret))
  return await connect(target as Target | LocalTarget, { ...(fetch && { fetch }), ...(authorize && { authorize }) })
}

/** Headers and cookies have more in them than the secret, and nobody repeats them as a whole. */
function told(given: Credentials | undefined, onSecret: (secret: string) => void): Credentials | undefined {
  for (const value of Object.values(given?.query ?? {})) onSecret(value)
  for (const [name, value] of Object.entries(given?.headers ?? {})) {
    onSecret(value)
    if (name.toLowerCase() === 'authorization') onSecret(value.replace(/^\S+\s+/, ''))
    if (name.toLowerCase() === 'cookie') for (const each of value.split(';')) onSecret(each.replace(/^[^=]*=/, ''))
  }
  return given
}
