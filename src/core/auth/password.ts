import { fromHex, isEqual, toHex } from '../base/hash.ts'

/** OWASP's recommendation of 2023 for PBKDF2 with SHA-256. */
const iterations = 600_000

/** Hashes a password for storage: `pbkdf2-sha256$600000$<salt>$<hash>`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(16))
  return `pbkdf2-sha256$${iterations}$${toHex(salt)}$${toHex(await derive(password, salt, iterations))}`
}

export interface StoredPassword {
  readonly iterations: number
  readonly salt: Uint8Array<ArrayBuffer>
  readonly hash: Uint8Array
}

/** Undefined if the text does not come from `hashPassword`. */
export function readPassword(stored: string): StoredPassword | undefined {
  const [, rounds = '', salt = '', hash = ''] = /^pbkdf2-sha256\$(\d{4,8})\$([\da-f]+)\$([\da-f]+)$/.exec(stored) ?? []
  const [saltBytes, hashBytes] = [fromHex(salt), fromHex(hash)]
  return saltBytes && hashBytes && { iterations: Number(rounds), salt: saltBytes, hash: hashBytes }
}

export async function matchesPassword(password: string, stored: StoredPassword): Promise<boolean> {
  return isEqual(await derive(password, stored.salt, stored.iterations), stored.hash)
}

async function derive(password: string, salt: Uint8Array<ArrayBuffer>, rounds: number): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(password), 'PBKDF2', false, ['deriveBits'])
  const parameters = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations: rounds }
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, key, 256))
}
