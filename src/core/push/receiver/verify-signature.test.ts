import { describe, expect, it } from 'vitest'
import {
  type DeliveryOptions,
  delivery,
  hookUrl,
  issuer,
  newSender,
  recordingReceiver,
  responseTo,
  statusBody,
} from '../../../../test/support/push/test-receiver.ts'
import { newSigningKey } from '../../auth/key-ring.ts'
import { pushSigner } from '../signing/push-signer.ts'
import type { ReceiverOptions } from './options.ts'

describe.each([
  ['jwt', 'ES256'],
  ['jwt', 'EdDSA'],
  ['http-signature', 'ES256'],
  ['http-signature', 'EdDSA'],
  ['both', 'ES256'],
] as const)('signed deliveries (%s, %s)', (form, alg) => {
  async function signedReceiver(options: Partial<ReceiverOptions> = {}) {
    const sender = await newSender(form, alg)
    const recording = await recordingReceiver({ signers: [sender.signer], ...options })
    const post = (posting: DeliveryOptions = {}) =>
      recording.post({ sign: sender.sign, deliveryId: 'd-1', generation: 1, ...posting })
    return { ...sender, ...recording, post }
  }

  it('a signed delivery is accepted, and names its issuer', async () => {
    const { post, deliveries } = await signedReceiver()
    expect(await post()).toBe('204')
    expect(deliveries).toMatchObject([{ issuer, deliveryId: 'd-1', generation: 1 }])
  })

  it('a signed delivery may carry other credentials, and go to a URL with a query', async () => {
    const { post } = await signedReceiver()
    expect(await post({ headers: { authorization: 'Basic abc' }, url: `${hookUrl}?tenant=a` })).toBe('204')
  })

  it('a signed delivery also needs the token, unless only a signature is required', async () => {
    const { post } = await signedReceiver()
    expect(await post({ token: undefined })).toBe('401 token')
    expect(await (await signedReceiver({ requires: 'signature' })).post({ token: undefined })).toBe('204')
    expect(await (await signedReceiver({ requires: 'either' })).post({ token: undefined })).toBe('204')
  })

  it('a delivery with a changed body is refused', async () => {
    const { receiver, token, sign, deliveries } = await signedReceiver()
    const request = await delivery({ token, sign, deliveryId: 'd-1' })
    const changed = new Request(request, { body: JSON.stringify(statusBody('TASK_STATE_COMPLETED')) })
    expect(await responseTo(receiver, changed)).toBe('401 tampered')
    expect(deliveries).toEqual([])
  })

  it('a delivery with a changed or added A2A header is refused', async () => {
    const { receiver, token, sign } = await signedReceiver()
    for (const [name, value] of [
      ['x-a2a-generation', '9'],
      ['x-a2a-delivery-id', 'd-9'],
      ['x-a2a-previous-generation', '8'],
      ['x-a2a-task-id', 't-9'],
    ] as const) {
      const request = await delivery({ token, sign, deliveryId: 'd-1', generation: 1 })
      request.headers.set(name, value)
      expect(await responseTo(receiver, request)).toMatch(/^401 (tampered|signature)$/)
    }
  })

  it('a delivery that was signed for another receiver is refused', async () => {
    const { receiver, token, sign } = await signedReceiver()
    const request = await delivery({ token, sign, url: 'https://other.example.com/hook' })
    const redirected = new Request(hookUrl, { method: 'POST', headers: request.headers, body: await request.text() })
    expect(await responseTo(receiver, redirected)).toMatch(/^401 (audience|signature)$/)
  })

  it('a delivery signed by an unknown key, or by another key with a known id, is refused', async () => {
    const { post } = await signedReceiver()
    const unknownKey = pushSigner({ keys: await newSigningKey(alg, 'strange'), issuer, form })
    const forgedKey = pushSigner({ keys: await newSigningKey(alg, 'first'), issuer, form })
    expect(await post({ sign: unknownKey })).toBe('401 unknown-key')
    expect(await post({ sign: forgedKey })).toBe('401 signature')
  })

  it('a delivery that was signed too long ago, or in the future, is refused', async () => {
    const { ring, post } = await signedReceiver()
    const signedAt = (time: number) => pushSigner({ keys: ring, issuer, form, lifetime: 3600, now: () => time })
    expect(await post({ sign: signedAt(Date.now() - 340_000) })).toBe('401 stale')
    expect(await post({ sign: signedAt(Date.now() + 60_000) })).toBe('401 stale')
    const short = pushSigner({ keys: ring, issuer, form, lifetime: 1, now: () => Date.now() - 40_000 })
    expect(await post({ sign: short })).toBe('401 stale')
    expect(await post({ sign: signedAt(Date.now() - 290_000) })).toBe('204')
  })

  it('a replayed attempt is refused, and a further attempt is acknowledged', async () => {
    const { receiver, post, token, sign, deliveries } = await signedReceiver()
    const request = await delivery({ token, sign, deliveryId: 'd-1', generation: 1 })
    expect(await responseTo(receiver, request.clone())).toBe('204')
    expect(await responseTo(receiver, request.clone())).toBe('409 replayed')
    // A further attempt is signed anew.
    const later = pushSigner({ keys: (await signedReceiver()).ring, issuer, form })
    expect(await post({ sign: later })).toBe('401 signature')
    expect(await post({ headers: { 'x-a2a-attempt': '2' } })).toBe('204')
    expect(deliveries).toHaveLength(1)
  })

  it('a delivery without a readable signature is refused', async () => {
    const { receiver, token } = await signedReceiver()
    const post = (headers: Record<string, string>) => responseTo(receiver, { token, headers })
    expect(await post({})).toBe('401 signature')
    expect(await post({ authorization: 'Bearer a.b.c' })).toBe('401 signature')
    expect(await post({ 'x-a2a-signature': 'garbage' })).toBe('401 signature')
    expect(await post({ 'signature-input': 'a=()', signature: 'a=::' })).toBe('401 signature')
    expect(await post({ 'signature-input': `a=${'("'.repeat(3000)}` })).toBe('401 signature')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    const claims = Buffer.from(JSON.stringify({ iss: issuer, aud: hookUrl })).toString('base64url')
    expect(await post({ authorization: `Bearer ${none}.${claims}.AA` })).toBe('401 signature')
  })
})

describe('published keys', () => {
  async function publishedKeys(answer: () => Response | Promise<Response>) {
    const requests: string[] = []
    const sender = await newSender()
    const fetch = async (url: string) => {
      requests.push(url)
      return await answer()
    }
    const recording = await recordingReceiver({ signers: [{ issuer }], fetch, keyCache: { cooldown: 0 } })
    return { ...sender, ...recording, requests }
  }

  it('keys are fetched once, and again when a new one is used', async () => {
    let ring = (await newSender()).ring
    const { post, requests } = await publishedKeys(async () => Response.json({ keys: await ring.published() }))
    const sign = () => pushSigner({ keys: ring, issuer })
    expect(await post({ sign: sign(), deliveryId: 'd-1' })).toBe('204')
    expect(await post({ sign: sign(), deliveryId: 'd-2' })).toBe('204')
    expect(requests).toEqual(['https://agent.example.com/.well-known/jwks.json'])
    ring.rotate(await newSigningKey('EdDSA', 'second'))
    expect(await post({ sign: sign(), deliveryId: 'd-3' })).toBe('204')
    expect(requests).toHaveLength(2)
    ring = { ...ring, published: async () => [] }
    expect(await post({ sign: sign(), deliveryId: 'd-4' })).toBe('204')
    expect(requests).toHaveLength(2)
  })

  it.each([
    ['unreachable', () => Promise.reject(new Error('connect ECONNREFUSED'))],
    ['server error', () => new Response('oops', { status: 500 })],
    ['no keys', () => new Response('[1]')],
    ['too large', () => new Response(new Uint8Array(2 ** 21))],
  ])('keys that cannot be fetched make the sender retry: %s', async (_, answer) => {
    const { receiver, token, sign } = await publishedKeys(answer)
    const response = await receiver.fetch(await delivery({ token, sign }))
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('30')
    expect(await response.text()).toContain('keys-unavailable')
  })

  it('keys of an unknown issuer are not fetched', async () => {
    const { post, requests } = await publishedKeys(() => Response.json({ keys: [] }))
    const sign = pushSigner({ keys: await newSigningKey(), issuer: 'https://attacker.example' })
    expect(await post({ sign })).toBe('401 signature')
    expect(requests).toEqual([])
  })
})
