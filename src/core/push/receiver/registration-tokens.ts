import { toBase64Url } from '../../base/base64.ts'
import { isEqual, sha256 } from '../../base/hash.ts'

const encoder = new TextEncoder()

export interface RegistrationsOptions {
  /** Secret for tokens, at least 32 bytes, shared by all replicas. Defaults to a random one, whose tokens end with the process. */
  readonly secret?: string | Uint8Array
  /** Further tokens to accept. */
  readonly tokens?: readonly string[]
}

export interface RecognisedToken {
  /** Undefined for a token of `tokens`. */
  readonly registration?: string
}

/** Creates tokens and recognises them without storing any, so that they survive restarts and work on every replica. */
export interface Registrations {
  newToken(): Promise<string>
  /** Undefined if the token is not valid. The comparison takes constant time. */
  recognise(token: string): Promise<RecognisedToken | undefined>
}

export function createRegistrations({ secret, tokens = [] }: RegistrationsOptions): Registrations {
  const bytes = secretBytes(secret)
  if (tokens.some((token) => token.length < 16)) {
    throw new TypeError('createReceiver(): tokens: expected at least 16 characters each: shorter ones can be guessed')
  }
  const key = crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const tokenHashes = tokens.map((token) => sha256(token))

  async function tokenOf(id: string): Promise<string> {
    const mac = await crypto.subtle.sign('HMAC', await key, encoder.encode(`a2a-push ${id}`))
    return `${id}.${toBase64Url(new Uint8Array(mac))}`
  }

  return {
    newToken: () => tokenOf(toBase64Url(crypto.getRandomValues(new Uint8Array(16)))),
    async recognise(token) {
      const hash = sha256(token)
      const [, id] = /^([\w-]{22})\.[\w-]{43}$/.exec(token) ?? []
      if (id !== undefined && isEqual(hash, sha256(await tokenOf(id)))) return { registration: id }
      let isKnown = false
      for (const tokenHash of tokenHashes) isKnown = isEqual(tokenHash, hash) || isKnown
      return isKnown ? {} : undefined
    },
  }
}

function secretBytes(secret: string | Uint8Array | undefined): Uint8Array<ArrayBuffer> {
  if (secret === undefined) return crypto.getRandomValues(new Uint8Array(32))
  const bytes = typeof secret === 'string' ? encoder.encode(secret) : Uint8Array.from(secret)
  if (bytes.length < 32)
    throw new TypeError(`createReceiver(): secret: expected at least 32 bytes, got ${bytes.length}`)
  return bytes
}
