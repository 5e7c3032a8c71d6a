import { createHmac, timingSafeEqual } from 'node:crypto'
import { custom } from '../../../src/entries/auth.ts'

const digest = (name: string, secret: string) => createHmac('sha256', secret).update(name).digest()

/** Callers sign their name with a shared secret. */
export function bySignedName(secret: string) {
  const signed = custom({
    card: { type: 'http', scheme: 'Signed', description: 'Signed <name>:<HMAC-SHA256 of it, in hex>' },
    authenticate({ header }) {
      const [, name, mac = ''] = /^Signed (\w+):([\da-f]{64})$/.exec(header('authorization') ?? '') ?? []
      if (name === undefined) return undefined
      return timingSafeEqual(Buffer.from(mac, 'hex'), digest(name, secret)) && { id: name }
    },
  })
  return { schemes: { signed } }
}
