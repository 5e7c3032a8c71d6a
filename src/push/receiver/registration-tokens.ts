import { toBase64Url } from '../../base/base64.ts'
import { isEqual, sha256 } from '../../base/hash.ts'

const encoder = new TextEncoder()

export interface RegistrationsOptions {
  /** Of all replicas, at least 32 bytes. By default a random one of this process: tokens end with it. */
  readonly secret?: string | Uint8Array
  /** Further tokens to be taken. */
  readonly tokens?: readonly string[]
}

export interface Recognised {
  /** Undefined for tokens that were handed in. */
  readonly registration?: string
}

/** Makes tokens and knows its own again without keeping any, so that a restart or another replica knows them, too. */
export interface Registrations {
  newToken(): Promise<string>
  /** Whose it is; undefined if it is none. Takes the same time wherever it is wrong. */
  recognise(token: string): Promise<Recognised | undefined>
}

export function createRegistrations({ secret, tokens = [] }: RegistrationsOptions): Registrations {
  const bytes = secretBytes(secret)
  if (tokens.some((token) => token.length < 16)) {
    throw new TypeError('receive(): tokens: expected at least 16 characters each: shorter ones can be guessed')
  }
  const key = crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const known = tokens.map((token) => sha256(token))

  async function tokenOf(id: string): Promise<string> {
    const mac = await crypto.subtle.sign('HMAC', await key, encoder.encode(`a2a-push ${id}`))
    return `${id}.${toBase64Url(new Uint8Array(mac))}`
  }

  return {
    newToken: () => tokenOf(toBase64Url(crypto.getRandomValues(new Uint8Array(16)))),
    async recognise(token) {
      const shown = sha256(token)
      const [, id] = /^([\w-]{22})\.[\w-]{43}$/.exec(token) ?? []
      if (id !== undefined && isEqual(shown, sha256(await tokenOf(id)))) return { registration: id }
      let isKnown = false
      for (const each of known) isKnown = isEqual(each, shown) || isKnown
      return isKnown ? {} : undefined
    },
  }
}

function secretBytes(secret: string | Uint8Array | undefined): Uint8Array<ArrayBuffer> {
  if (secret === undefined) return crypto.getRandomValues(new Uint8Array(32))
  const bytes = typeof secret === 'string' ? encoder.encode(secret) : Uint8Array.from(secret)
  if (bytes.length < 32) throw new TypeError(`receive(): secret: expected at least 32 bytes, got ${bytes.length}`)
  return bytes
}
