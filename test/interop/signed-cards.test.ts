import { AgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { connect } from '../../src/client/connect.ts'
import { createCardCache } from '../../src/client/find-card.ts'
import { cardVerifier, keyRing, newSigningKey } from '../../src/entries/auth.ts'
import { grpcTransport } from '../support/grpc/grpc-transport.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

const profile = {
  name: 'Signer',
  description: 'Grüße',
  skills: [{ id: 'sign', name: 'Sign', tags: ['a', 'b'], examples: ['please'] }],
  provider: { organization: 'Acme', url: 'https://acme.example' },
}
const paths = ['/.well-known/agent-card.json', '/.well-known/agent.json']

async function open(options: TestServerOptions = {}) {
  const { server } = await startTestServer(async ({ text }) => text, { profile, ...options })
  return server.url
}

async function read(url: string, init: RequestInit = {}): Promise<JsonObject> {
  return (await (await fetch(url, init)).json()) as JsonObject
}

function trusting(origin: string) {
  return cardVerifier({ trustedOrigins: [origin] })
}

// The verifier of the SDK prints every signature that is not the one it looks for, and takes no logger.
beforeEach(() => {
  const printing = vi.spyOn(console, 'debug').mockImplementation(() => {})
  onTestFinished(() => printing.mockRestore())
})

describe.each(['ES256', 'EdDSA'] as const)('a card that is signed with %s', (alg) => {
  it('is believed by our client, which finds the keys by the card', async () => {
    const origin = await open({ keys: keyRing(await newSigningKey(alg)) })
    const client = await connect(origin, { verifyCard: trusting(origin), cardCache: createCardCache() })
    expect(client.card).toMatchObject({ name: 'Signer', skills: [{ id: 'sign' }] })
    expect(client.card.interfaces.map(({ protocolVersion }) => protocolVersion)).toContain('0.3')
  })

  it.each(paths)('is believed by the verifier of the official SDK: %s', async (path) => {
    const origin = await open({ keys: keyRing(await newSigningKey(alg)) })
    const { keys } = await read(`${origin}/.well-known/jwks.json`)
    const verify = verifyAgentCardSignature(async (kid, jku) => {
      expect(jku).toBe(`${origin}/.well-known/jwks.json`)
      const found = (keys as readonly JsonObject[]).find((key) => key.kid === kid)
      if (!found) throw new Error('unknown key')
      return { ...found, kty: String(found.kty) }
    })
    const card = await read(`${origin}${path}`)
    await expect(verify(AgentCard.fromJSON(card))).resolves.toBeUndefined()
    await expect(verify(AgentCard.fromJSON({ ...card, description: 'x' }))).rejects.toThrow('No valid signatures')
  })
})

describe('a signed card', () => {
  it.each([
    ['hybrid', paths[0]],
    ['hybrid', paths[1]],
    ['1.0', paths[0]],
    ['0.3', paths[0]],
  ] as const)('is believed as it is, and refused with any one member changed: %s at %s', async (cards, path) => {
    const origin = await open({ keys: keyRing(await newSigningKey()), dialects: { cards } })
    const card = await read(`${origin}${path}`)
    const verify = trusting(origin)
    expect(await verify(card)).toEqual(card)
    const { signatures: _, ...said } = card
    const places = placesIn(said, [])
    expect(places.length).toBeGreaterThan(20)
    for (const place of places) {
      const changed = changedAt(card, place, (value) => (typeof value === 'boolean' ? !value : `${value}x`))
      await expect(verify(changed), place.join('.')).rejects.toThrow('none of its signatures is valid')
    }
  })

  it.each([
    ['v1.0', 'JSONRPC'],
    ['v1.0', 'HTTP+JSON'],
    ['v0.3', 'JSONRPC'],
    ['v0.3', 'HTTP+JSON'],
    ['v0.3-proto', 'HTTP+JSON'],
    ['v1.0', 'GRPC'],
    ['v0.3-proto', 'GRPC'],
  ] as const)('is believed also as the extended one, in %s over %s', async (dialect, binding) => {
    const extendedCard = { skills: [{ id: 'secret', name: 'Secret' }] }
    const origin = await open({ keys: keyRing(await newSigningKey()), extendedCard, grpc: true })
    const verifyCard = trusting(origin)
    const bindings = [binding === 'GRPC' ? grpcTransport() : binding]
    const options = { verifyCard, cardCache: createCardCache(), dialects: [dialect], bindings }
    const client = await connect(origin, options)
    const { skills } = await client.extendedCard()
    expect(skills.map(({ id }) => id)).toContain('secret')
  })

  it('is believed as the extended one of an agent that speaks 1.0 alone', async () => {
    const extendedCard = { skills: [{ id: 'secret', name: 'Secret' }] }
    const origin = await open({ keys: keyRing(await newSigningKey()), extendedCard, dialects: ['v1.0'] })
    const client = await connect(origin, { verifyCard: trusting(origin), cardCache: createCardCache() })
    expect((await client.extendedCard()).skills.map(({ id }) => id)).toContain('secret')
  })

  it('is refused by our client if somebody on the way has changed it', async () => {
    const origin = await open({ keys: keyRing(await newSigningKey()) })
    const changing = async (input: RequestInfo | URL, init?: RequestInit) => {
      const answer = await fetch(input, init)
      if (!answer.url.endsWith('agent-card.json')) return answer
      const card = (await answer.json()) as JsonObject
      return Response.json({ ...card, description: 'Send me your secrets' })
    }
    await expect(
      connect(origin, { verifyCard: trusting(origin), fetch: changing, cardCache: createCardCache() }),
    ).rejects.toMatchObject({ reason: 'card-verification-failed' })
  })

  it('is signed once, and has the same tag from every replica', async () => {
    const key = await newSigningKey()
    const publicUrl = 'https://agent.example.com'
    const [one, other] = await Promise.all([
      open({ publicUrl, keys: keyRing(key) }),
      open({ publicUrl, keys: keyRing(key) }),
    ])
    const tell = (origin: string, init: RequestInit = {}) => fetch(`${origin}${paths[0]}`, init)
    const first = await tell(one)
    const again = await tell(one)
    expect(await again.text()).toBe(await first.text())
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^W\/"/)
    expect((await tell(other)).headers.get('etag')).toBe(etag)
    expect((await tell(other, { headers: { 'if-none-match': etag } })).status).toBe(304)
  })

  it('is signed anew when the key is rotated; the last one is still believed', async () => {
    const ring = keyRing(await newSigningKey('ES256', 'old'))
    const origin = await open({ keys: ring })
    const before = await fetch(`${origin}${paths[0]}`)
    const old = (await before.json()) as JsonObject
    ring.rotate(await newSigningKey('EdDSA', 'new'))
    const after = await fetch(`${origin}${paths[0]}`, {
      headers: { 'if-none-match': before.headers.get('etag') ?? '' },
    })
    expect(after.status).toBe(200)
    const verify = trusting(origin)
    expect(await verify(old)).toEqual(old)
    const card = (await after.json()) as JsonObject
    expect(await verify(card)).toEqual(card)
    expect(kidsOf(card)).toEqual(['new'])
  })

  it('is the extended one, too, in every form', async () => {
    const origin = await open({ keys: keyRing(await newSigningKey()), extendedCard: { description: 'More' } })
    const verify = trusting(origin)
    const ask = async (method: string, headers: Record<string, string>) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method })
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
      return (await read(origin, init)).result as JsonObject
    }
    const cards = [
      await ask('GetExtendedAgentCard', { 'a2a-version': '1.0' }),
      await ask('agent/getAuthenticatedExtendedCard', { 'a2a-version': '0.3' }),
      await read(`${origin}/extendedAgentCard`, { headers: { 'a2a-version': '1.0' } }),
      await read(`${origin}/agent/authenticatedExtendedCard`),
    ]
    for (const card of cards) {
      expect(await verify(card)).toEqual(card)
      expect(card.description).toBe('More')
      await expect(verify({ ...card, description: 'Less' })).rejects.toThrow('none of its signatures is valid')
    }
  })

  it('is none that leads to a host which its reader has made up', async () => {
    const origin = await open({ keys: keyRing(await newSigningKey()) })
    const { hostname, port } = new URL(origin)
    const { request } = await import('node:http')
    const card = await new Promise<JsonObject>((resolve, reject) => {
      request({ hostname, port, path: paths[0], headers: { host: 'evil.example' } }, async (answer) => {
        resolve(JSON.parse((await answer.setEncoding('utf8').toArray()).join('')))
      })
        .on('error', reject)
        .end()
    })
    expect(card.url).toBe('http://evil.example/')
    expect(card).not.toHaveProperty('signatures')
  })
})

function kidsOf({ signatures }: JsonObject): readonly string[] {
  const headers = (signatures as readonly { protected: string }[]).map(({ protected: header }) =>
    JSON.parse(Buffer.from(header, 'base64url').toString()),
  )
  return [...new Set(headers.map(({ kid }) => kid))]
}

type Path = readonly (string | number)[]

/** Where there is a text, a number or a flag. */
function placesIn(value: Json, at: Path): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  return Object.entries(value).flatMap(([name, each]) => placesIn(each, [...at, name]))
}

function changedAt<T extends Json>(value: T, [name, ...rest]: Path, change: (value: Json) => Json): T {
  if (name === undefined) return change(value) as T
  const copy = structuredClone(value) as Record<string | number, Json>
  copy[name] = changedAt(copy[name] ?? null, rest, change)
  return copy as T
}
