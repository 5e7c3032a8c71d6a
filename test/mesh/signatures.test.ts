import { beforeAll, describe, expect, it } from 'vitest'
import {
  configuredKeys,
  createMeshPeer,
  generateSigningKey,
  isEnvelopeSignedBy,
  type MeshEnvelope,
  type MeshPeer,
  type MeshSigningKey,
  signEnvelope,
} from '../../src/entries/mesh.ts'
import type { KeyKind } from '../../src/mesh/keys.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, meshRequest } from '../support/mesh/mesh-peers.ts'
import { createRandom } from '../support/random.ts'

/** Without the backslash, which JSON allows before some characters that mean the same without it. */
const letters = [...new TextEncoder().encode('azAZ09{}[]:,"+/=-')]
const bits = [0, 1, 2, 3, 4, 5, 6, 7]
const kinds: readonly KeyKind[] = ['Ed25519', 'P-256', 'RSA']

describe.each(kinds)('a request that is signed by a key of %s', (kind) => {
  let key: MeshSigningKey
  beforeAll(async () => {
    key = await generateSigningKey(kind)
  })

  it('is refused by the server with any byte changed, left out or put in, and is then done as it was', {
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
        if (status < 400) throw new Error(`Taken with another byte at ${at}: ${new TextDecoder().decode(other)}`)
      }
    }
    expect(done).toEqual([])
    expect((await peer.receive(bytes)).status).toBe(200)
    expect(done).toEqual([envelope.message_id])
  })

  it('is the same one with other spaces, another order and other escapes: done once, with one answer', async () => {
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

it('the second signature that ECDSA has for the same message makes no second message of it', async () => {
  const key = await generateSigningKey('P-256')
  const { peer, done } = await server(key)
  const envelope = await signEnvelope(meshRequest(), key)
  const receive = (each: MeshEnvelope) => peer.receive(new TextEncoder().encode(JSON.stringify(each)))
  expect((await receive(envelope)).status).toBe(200)
  const twin = withOtherHalf(envelope)
  expect(await isEnvelopeSignedBy(twin, key)).toBe(true)
  const { status, text } = await receive(twin)
  expect({ status, reason: JSON.parse(text ?? '').payload.error.details.reason }).toEqual({
    status: 401,
    reason: 'REPLAY',
  })
  expect(done).toEqual([envelope.message_id])
})

/** A peer that trusts this key, and what it has done. */
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

/** Of ECDSA: r and the order of the group minus s are as good as r and s. */
function withOtherHalf<E extends MeshEnvelope>(envelope: E): E {
  const { auth } = envelope
  if (!auth) throw new Error('it is not signed')
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const signature = Buffer.from(auth.signature, 'base64')
  const half = (order - BigInt(`0x${signature.toString('hex', 32)}`)).toString(16).padStart(64, '0')
  const other = Buffer.concat([signature.subarray(0, 32), Buffer.from(half, 'hex')]).toString('base64')
  return { ...envelope, auth: { ...auth, signature: other } }
}
