import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { MeshEnvelope } from './envelope.ts'
import { createEnvelopeReader, createEnvelopeWriter } from './envelope-codec.ts'
import type { KeyKind } from './keys.ts'
import { generateSigningKey, type MeshSigningKey } from './keys.ts'
import { isEnvelopeSignedBy, signEnvelope, signedBytes } from './signature.ts'

const read = createEnvelopeReader()
const kinds: readonly KeyKind[] = ['Ed25519', 'P-256', 'RSA']

/** Arbitrary parameters. */
const parameters = fc.dictionary(
  fc.string({ unit: 'grapheme' }),
  fc.jsonValue({ maxDepth: 3, noUnicodeString: false }),
  { maxKeys: 4 },
)

/** Parameters with only one spelling in JSON. */
const plainParameters = fc.dictionary(
  fc.stringMatching(/^[a-zäß€ ]{0,8}$/),
  fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.stringMatching(/^[A-Za-zäß€ ]{0,12}$/)),
  { maxKeys: 4 },
)

function request(parameters: object): MeshEnvelope {
  return {
    message_id: '3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59',
    message_type: 'request',
    sender_id: 'shop-agent',
    recipient_id: 'price-agent',
    timestamp: '2026-01-31T12:00:00.000Z',
    payload: { method: 'get_price', parameters: parameters as never },
    correlation_id: null,
  }
}

describe.each(kinds)('an envelope signed with a key of %s', (kind) => {
  let key: MeshSigningKey
  beforeAll(async () => {
    key = await generateSigningKey(kind)
  })

  it('the signature is valid in any order of members and with any white space', async () => {
    await fc.assert(
      fc.asyncProperty(parameters, async (values) => {
        const signed = await signEnvelope(request(values), key)
        const reordered = Object.fromEntries(Object.entries(signed).reverse())
        const { envelope } = read(new TextEncoder().encode(JSON.stringify(reordered, null, 3)))
        expect(envelope && (await isEnvelopeSignedBy(envelope, key))).toBe(true)
      }),
      { numRuns: 40 },
    )
  })

  it('a written envelope has a valid signature, and its payload keeps the order of its members', async () => {
    const write = createEnvelopeWriter({ agentId: 'shop-agent', key, now: Date.now })
    await fc.assert(
      fc.asyncProperty(parameters, async (values) => {
        const payload = { method: 'get_price', parameters: { z: ',"timestamp":', ...values, a: 1 } as never }
        const { text } = await write({ message_type: 'request', recipient_id: 'price-agent', payload } as never)
        const { envelope } = read(new TextEncoder().encode(text))
        expect(envelope && (await isEnvelopeSignedBy(envelope, key))).toBe(true)
        expect(JSON.stringify(envelope?.payload)).toBe(JSON.stringify(payload))
      }),
      { numRuns: 40 },
    )
  })

  it('a payload that changes while it is signed is sent as it was', async () => {
    const write = createEnvelopeWriter({ agentId: 'shop-agent', key, now: Date.now })
    const payload = { method: 'get_price', parameters: { symbol: 'TEA' } }
    const writing = write({ message_type: 'request', recipient_id: 'price-agent', payload } as never)
    payload.parameters.symbol = 'OIL'
    const { envelope } = read(new TextEncoder().encode((await writing).text))
    expect(envelope?.payload).toMatchObject({ parameters: { symbol: 'TEA' } })
    expect(envelope && (await isEnvelopeSignedBy(envelope, key))).toBe(true)
  })

  it('the signature is invalid if any byte changes', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(plainParameters, fc.integer({ min: 1, max: 255 }), async (values, change) => {
        const bytes = await signedBytesOf(values)
        for (const changed of changesOf(bytes, change)) expect(await accepted(changed)).toBeUndefined()
      }),
      { numRuns: 4 },
    )
  })

  it('the signature is invalid if the meaning of any byte changes, but not with another spelling of the same value', {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(parameters, fc.integer({ min: 1, max: 255 }), async (values, change) => {
        const bytes = await signedBytesOf(values)
        const { envelope } = read(bytes)
        for (const changed of changesOf(bytes, change)) expect((await accepted(changed)) ?? envelope).toEqual(envelope)
      }),
      { numRuns: 4 },
    )
  })

  async function signedBytesOf(values: object): Promise<Uint8Array> {
    return new TextEncoder().encode(JSON.stringify(await signEnvelope(request(values), key)))
  }

  async function accepted(bytes: Uint8Array): Promise<MeshEnvelope | undefined> {
    const { envelope } = read(bytes)
    return envelope && (await isEnvelopeSignedBy(envelope, key)) ? envelope : undefined
  }
})

/** Changes each byte in turn. */
function* changesOf(bytes: Uint8Array, change: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at++) {
    const changed = Uint8Array.from(bytes)
    changed[at] = (bytes[at] ?? 0) ^ change
    yield changed
  }
}

it('a signature covers all other members in the canonical form of RFC 8785', async () => {
  const signed = await signEnvelope(request({ b: 1, a: '€', '\u20ac': 1e21, '\r': null }), await generateSigningKey())
  const text = new TextDecoder().decode(signedBytes(signed))
  expect(text).toMatch(/^\{"auth":\{"agent_id":"shop-agent","nonce":"[0-9a-f]{32}","public_key_fingerprint":"sha256:/)
  expect(text).not.toContain('"signature"')
  expect(text).toContain('"parameters":{"\\r":null,"a":"€","b":1,"€":1e+21}')
})

it('the signed bytes of every envelope are what the library makes of it, also with unknown members', async () => {
  const members = fc.record(
    { correlation_id: fc.option(fc.string()), sender_id: fc.string(), zone: fc.string(), a_first: parameters },
    { requiredKeys: [] },
  )
  const tag = fc.record(
    { agent_id: fc.string(), nonce: fc.string(), public_key_fingerprint: fc.string(), extra: fc.string() },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(parameters, members, tag, (values, more, auth) => {
      const envelope = { ...request(values), ...more, auth: { ...auth, signature: 'AAAA' } } as unknown as MeshEnvelope
      expect(new TextDecoder().decode(signedBytes(envelope))).toBe(canonicalize({ ...envelope, auth }))
    }),
  )
})

it('a written envelope has a valid signature and a nonce of its own', async () => {
  const key = await generateSigningKey()
  const write = createEnvelopeWriter({ agentId: 'shop-agent', key, now: Date.now })
  const { payload } = request({ b: 1, a: '€ "quoted"', 10: [null, {}], 9: false })
  const nonces = new Set<string | undefined>()
  for (let round = 0; round < 200; round++) {
    const draft = { message_type: 'request', recipient_id: 'price-agent', payload } as never
    const { text, messageId } = await write(draft)
    const { envelope } = read(new TextEncoder().encode(text))
    expect(envelope).toMatchObject({ message_id: messageId, correlation_id: null, payload })
    expect(envelope && (await isEnvelopeSignedBy(envelope, key))).toBe(true)
    nonces.add(envelope?.auth?.nonce)
  }
  expect(nonces.size).toBe(200)
})
