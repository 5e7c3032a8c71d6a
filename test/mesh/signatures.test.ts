import { beforeAll, describe, expect, it } from 'vitest'
import {
  configuredKeys,
  createMeshPeer,
  generateSigningKey,
  type MeshEnvelope,
  type MeshPeer,
  type MeshSigningKey,
  signEnvelope,
} from '../../src/entries/mesh.ts'
import type { KeyKind } from '../../src/mesh/keys.ts'
import { isEnvelopeSignedBy } from '../../src/mesh/signature.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, meshRequest } from '../support/mesh/mesh-peers.ts'
import { createRandom } from '../support/random.ts'

/** No backslash: JSON allows it before some characters without a change of meaning. */
const letters = [...new TextEncoder().encode('azAZ09{}[]:,"+/=-')]
const bits = [0, 1, 2, 3, 4, 5, 6, 7]
const kinds: readonly KeyKind[] = ['Ed25519', 'P-256', 'RSA']

describe.each(kinds)('a request signed with an %s key', (kind) => {
  let key: MeshSigningKey
  beforeAll(async () => {
    key = await generateSigningKey(kind)
  })

  it('a request with any byte changed, removed or inserted is rejected, and the original is accepted afterwards', {
    timeout: 120_000,
  }, async () => {
    const { peer, done } = await server(key)
    const envelope = await signEnvelope(meshRequest(), key)
    const bytes = new TextEncoder().encode(JSON.stringify(envelope))
    const random = createRandom(kinds.indexOf(kind) + 1)
    for (let at = 0; at < bytes.length; at++) {
      const others = [
        ...bits.map((bit) => spliced(bytes, at, 1, (bytes[at] ?? 0) ^ (1 << bit))),
        spliced(bytes, at, 1, (bytes[at] ?? 0) ^ (1 + random.below(255))),
        spliced(bytes, at, 1),
        spliced(bytes, at, 0, random.pick(letters)),
      ]
      for (const other of others) {
        const { status } = await peer.receive(other)
        if (status < 400) throw new Error(`Accepted with another byte at ${at}: ${new TextDecoder().decode(other)}`)
      }
    }
    expect(done).toEqual([])
    expect((await peer.receive(bytes)).status).toBe(200)
    expect(done).toEqual([envelope.message_id])
  })

  it('a request with other whitespace, order or escapes is the same request and runs once', async () => {
    const { peer, done } = await server(key)
    const envelope = await signEnvelope(meshRequest(), key)
    const spellings = [
      JSON.stringify(envelope),
      JSON.stringify(envelope, null, 2),
      JSON.stringify(Object.fromEntries(Object.entries(envelope).reverse())),
      JSON.stringify(envelope).replace('"get_price"', '"\\u0067et_price"'),
    ]
    const answers = await Promise.all(spellings.map((text) => peer.receive(new TextEncoder().encode(text))))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(done).toEqual([envelope.message_id])
  })
})

it('the second valid ECDSA signature of a message is a replay', async () => {
  const key = await generateSigningKey('P-256')
  const { peer, done } = await server(key)
  const envelope = await signEnvelope(meshRequest(), key)
  const receive = (each: MeshEnvelope) => peer.receive(new TextEncoder().encode(JSON.stringify(each)))
  expect((await receive(envelope)).status).toBe(200)
  const other = withOtherHalf(envelope)
  expect(await isEnvelopeSignedBy(other, key)).toBe(true)
  const { status, text } = await receive(other)
  expect({ status, reason: JSON.parse(text ?? '').payload.error.details.reason }).toEqual({
    status: 401,
    reason: 'REPLAY',
  })
  expect(done).toEqual([envelope.message_id])
})

/** A peer that trusts this key, and the ids of the messages that it has processed. */
async function server(key: MeshSigningKey): Promise<{ readonly peer: MeshPeer; readonly done: readonly string[] }> {
  const done: string[] = []
  const peer = createMeshPeer({
    card: meshCard('price-agent'),
    key: await generateSigningKey(),
    keys: await configuredKeys({ 'shop-agent': key.jwk }),
    rateLimit: { take: () => 0 },
    methods: { get_price: (_, { envelope }) => ({ count: done.push(envelope.message_id) }) },
    logger: silentLogger,
  })
  return { peer, done }
}

function spliced(bytes: Uint8Array, at: number, left: number, ...put: readonly number[]): Uint8Array {
  return Uint8Array.of(...bytes.subarray(0, at), ...put, ...bytes.subarray(at + left))
}

/** In ECDSA, (r, n - s) is as valid as (r, s). */
function withOtherHalf<E extends MeshEnvelope>(envelope: E): E {
  const { auth } = envelope
  if (!auth) throw new Error('the envelope is not signed')
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const signature = Buffer.from(auth.signature, 'base64')
  const half = (order - BigInt(`0x${signature.toString('hex', 32)}`)).toString(16).padStart(64, '0')
  const other = Buffer.concat([signature.subarray(0, 32), Buffer.from(half, 'hex')]).toString('base64')
  return { ...envelope, auth: { ...auth, signature: other } }
}
