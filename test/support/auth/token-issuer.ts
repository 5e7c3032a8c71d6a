import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'

/** A token issuer on loopback with real keys. */
export interface Issuer {
  readonly url: string
  readonly keysUrl: string
  /** The number of times its keys were fetched. */
  readonly fetches: () => number
  /** A token of the user alice for this agent, valid for an hour, unless `claims` overrides that. */
  token(claims?: JWTPayload, header?: Readonly<Record<string, string>>): Promise<string>
  /** Signs with a new key from now on, and no longer publishes the old one. */
  rotate(): Promise<void>
  /** Answers with this status from now on. 200 restores the normal behaviour. */
  fail(status: number): void
}

export const audience = 'https://agent.test'

export async function startIssuer({ alg = 'ES256' } = {}): Promise<Issuer> {
  let key = await newKey(alg, 'key-1')
  let fetches = 0
  let status = 200
  let rotations = 1

  const server = createServer((request, response) => {
    const isKeys = request.url === '/jwks'
    if (isKeys) fetches++
    const body = isKeys ? { keys: [key.published] } : { issuer: url, jwks_uri: `${url}/jwks` }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url,
    keysUrl: `${url}/jwks`,
    fetches: () => fetches,
    token(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000)
      return new SignJWT({ iss: url, aud: audience, sub: 'alice', exp: now + 3600, scope: 'read write', ...claims })
        .setProtectedHeader({ alg, kid: key.kid, ...header })
        .sign(key.privateKey)
    },
    async rotate() {
      key = await newKey(alg, `key-${++rotations}`)
    },
    fail(next) {
      status = next
    },
  }
}

async function newKey(alg: string, kid: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, privateKey, published: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}
