import type { MeshCard } from '../mesh/envelope.ts'
import { importPublicKey } from '../mesh/keys.ts'
import type { MeshCall } from '../mesh/options.ts'
import type { MeshEntry } from './entry.ts'

/** Rejects if the address may not be asked, as `createGuardedFetch().check` does. */
export type CheckEndpoint = (url: string) => Promise<void>

export type Registration = { readonly entry?: MeshEntry } | { readonly refusal: string }

/** What a handshake asks for. One without an endpoint registers nobody: it comes from somebody who only searches. */
export async function registrationOf(
  card: MeshCard,
  { identity }: MeshCall,
  check: CheckEndpoint,
  now: number,
): Promise<Registration> {
  const { endpoint, public_key: shown } = card.metadata ?? {}
  if (endpoint === undefined) return {}
  if (typeof endpoint !== 'string' || !/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) {
    return { refusal: 'metadata.endpoint must be an absolute address by http or https.' }
  }
  try {
    await check(endpoint)
  } catch {
    return { refusal: 'metadata.endpoint is an address that this registry does not ask.' }
  }
  if (shown !== undefined && identity && !(await isKey(shown, identity.fingerprint))) {
    return { refusal: 'metadata.public_key is not the key that signed the handshake.' }
  }
  const proof = identity && { fingerprint: identity.fingerprint }
  return { entry: { kind: 'mesh', id: card.agent_id, name: card.name, card, endpoint, seen: now, ...proof } }
}

/** Others take keys from here, so a wrong one must not get in. */
async function isKey(shown: unknown, fingerprint: string): Promise<boolean> {
  try {
    return (await importPublicKey(shown as string | JsonWebKey)).fingerprint === fingerprint
  } catch {
    return false
  }
}
