import { expect, it } from 'vitest'
import { silentLogger } from '../../../test/support/logger.ts'
import { agent } from '../agent/agent.ts'
import { createKeyRing, newSigningKey } from '../auth/key-ring.ts'
import { createHandler } from './handler.ts'

const echo = agent({ name: 'Echo' }, async (turn) => turn.text)
const url = 'https://agent.example.com/.well-known/jwks.json'

it('an agent that signs publishes its current and previous keys', async () => {
  const ring = createKeyRing(await newSigningKey('ES256', 'old'))
  const { fetch } = createHandler(echo, { auth: 'none', keys: ring, logger: silentLogger })
  const first = await fetch(new Request(url))
  expect(first.headers.get('content-type')).toBe('application/jwk-set+json')
  expect(first.headers.get('cache-control')).toBe('public, max-age=300')
  expect(await first.json()).toEqual({
    keys: [
      { kty: 'EC', crv: 'P-256', x: expect.any(String), y: expect.any(String), kid: 'old', alg: 'ES256', use: 'sig' },
    ],
  })
  const etag = first.headers.get('etag') ?? ''
  const again = () => fetch(new Request(url, { headers: { 'if-none-match': etag } }))
  expect((await again()).status).toBe(304)
  ring.rotate(await newSigningKey('EdDSA', 'new'))
  expect(await (await again()).json()).toMatchObject({ keys: [{ kid: 'new', kty: 'OKP' }, { kid: 'old' }] })
  expect((await fetch(new Request(url, { method: 'DELETE' }))).status).toBe(405)
})

it('an agent that does not sign has no key page', async () => {
  const { fetch } = createHandler(echo, { auth: 'none', logger: silentLogger })
  expect((await fetch(new Request(url))).status).toBe(404)
})
