import { describe, expect, it } from 'vitest'
import {
  answerTo,
  delivery,
  hookUrl,
  issuer,
  newSender,
  noting,
  type Posting,
  statusBody,
} from '../../../test/support/push.ts'
import { newSigningKey } from '../../auth/key-ring.ts'
import { pushSigner } from '../signing/push-signer.ts'
import type { ReceiveOptions } from './options.ts'

describe.each([
  ['jwt', 'ES256'],
  ['jwt', 'EdDSA'],
  ['http-signature', 'ES256'],
  ['http-signature', 'EdDSA'],
  ['both', 'ES256'],
] as const)('a delivery that is signed (%s, %s)', (form, alg) => {
  async function signing(options: Partial<ReceiveOptions> = {}) {
    const sender = await newSender(form, alg)
    const noted = await noting({ signers: [sender.signer], ...options })
    const post = (posting: Posting = {}) =>
      noted.post({ sign: sender.sign, deliveryId: 'd-1', generation: 1, ...posting })
    return { ...sender, ...noted, post }
  }

  it('is believed, and says by whom it is', async () => {
    const { post, told } = await signing()
    expect(await post()).toBe('204')
    expect(told).toMatchObject([{ issuer, deliveryId: 'd-1', generation: 1 }])
  })

  it('is believed beside credentials, and at an address with a query', async () => {
    const { post } = await signing()
    expect(await post({ headers: { authorization: 'Basic abc' }, url: `${hookUrl}?tenant=a` })).toBe('204')
  })

  it('needs the token, too, unless that is not required', async () => {
    const { post } = await signing()
    expect(await post({ token: undefined })).toBe('401 token')
    expect(await (await signing({ requires: 'signature' })).post({ token: undefined })).toBe('204')
    expect(await (await signing({ requires: 'either' })).post({ token: undefined })).toBe('204')
  })

  it('is refused if its body was changed', async () => {
    const { made, token, sign, told } = await signing()
    const request = await delivery({ token, sign, deliveryId: 'd-1' })
    const changed = new Request(request, { body: JSON.stringify(statusBody('TASK_STATE_COMPLETED')) })
    expect(await answerTo(made, changed)).toBe('401 tampered')
    expect(told).toEqual([])
  })

  it('is refused if something that it says of itself was changed or added', async () => {
    const { made, token, sign } = await signing()
    for (const [name, value] of [
      ['x-a2a-generation', '9'],
      ['x-a2a-delivery-id', 'd-9'],
      ['x-a2a-previous-generation', '8'],
      ['x-a2a-task-id', 't-9'],
    ] as const) {
      const request = await delivery({ token, sign, deliveryId: 'd-1', generation: 1 })
      request.headers.set(name, value)
      expect(await answerTo(made, request)).toMatch(/^401 (tampered|signature)$/)
    }
  })

  it('is refused if it was signed for somebody else', async () => {
    const { made, token, sign } = await signing()
    const request = await delivery({ token, sign, url: 'https://other.example.com/hook' })
    const here = new Request(hookUrl, { method: 'POST', headers: request.headers, body: await request.text() })
    expect(await answerTo(made, here)).toMatch(/^401 (audience|signature)$/)
  })

  it('is refused by a key that is not known, and by another one under a known name', async () => {
    const { post } = await signing()
    const strange = pushSigner({ keys: await newSigningKey(alg, 'strange'), issuer, form })
    const false_ = pushSigner({ keys: await newSigningKey(alg, 'first'), issuer, form })
    expect(await post({ sign: strange })).toBe('401 unknown-key')
    expect(await post({ sign: false_ })).toBe('401 signature')
  })

  it('is refused if it is old, or of the future', async () => {
    const { ring, post } = await signing()
    const signedAt = (moment: number) => pushSigner({ keys: ring, issuer, form, lifetime: 3600, now: () => moment })
    expect(await post({ sign: signedAt(Date.now() - 340_000) })).toBe('401 stale')
    expect(await post({ sign: signedAt(Date.now() + 60_000) })).toBe('401 stale')
    const short = pushSigner({ keys: ring, issuer, form, lifetime: 1, now: () => Date.now() - 40_000 })
    expect(await post({ sign: short })).toBe('401 stale')
    expect(await post({ sign: signedAt(Date.now() - 290_000) })).toBe('204')
  })

  it('is refused if it is played again, but not if it is tried again', async () => {
    const { made, post, token, sign, told } = await signing()
    const request = await delivery({ token, sign, deliveryId: 'd-1', generation: 1 })
    expect(await answerTo(made, request.clone())).toBe('204')
    expect(await answerTo(made, request.clone())).toBe('409 replayed')
    // Signed anew: the sender got no answer.
    const later = pushSigner({ keys: (await signing()).ring, issuer, form })
    expect(await post({ sign: later })).toBe('401 signature')
    expect(await post({ headers: { 'x-a2a-attempt': '2' } })).toBe('204')
    expect(told).toHaveLength(1)
  })

  it('is refused without a signature, and with none that can be read', async () => {
    const { made, token } = await signing()
    const post = (headers: Record<string, string>) => answerTo(made, { token, headers })
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

describe('keys at an address', () => {
  async function published(answer: () => Response | Promise<Response>) {
    const asked: string[] = []
    const sender = await newSender()
    const fetch = async (url: string) => {
      asked.push(url)
      return await answer()
    }
    const noted = await noting({ signers: [{ issuer }], fetch, keyCache: { cooldown: 0 } })
    return { ...sender, ...noted, asked }
  }

  it('are fetched once, and again when a new one is used', async () => {
    let ring = (await newSender()).ring
    const { post, asked } = await published(async () => Response.json({ keys: await ring.published() }))
    const sign = () => pushSigner({ keys: ring, issuer })
    expect(await post({ sign: sign(), deliveryId: 'd-1' })).toBe('204')
    expect(await post({ sign: sign(), deliveryId: 'd-2' })).toBe('204')
    expect(asked).toEqual(['https://agent.example.com/.well-known/jwks.json'])
    ring.rotate(await newSigningKey('EdDSA', 'second'))
    expect(await post({ sign: sign(), deliveryId: 'd-3' })).toBe('204')
    expect(asked).toHaveLength(2)
    ring = { ...ring, published: async () => [] }
    expect(await post({ sign: sign(), deliveryId: 'd-4' })).toBe('204')
    expect(asked).toHaveLength(2)
  })

  it.each([
    ['down', () => Promise.reject(new Error('connect ECONNREFUSED'))],
    ['broken', () => new Response('oops', { status: 500 })],
    ['no keys', () => new Response('[1]')],
    ['endless', () => new Response(new Uint8Array(2 ** 21))],
  ])('that cannot be had make the sender try again: %s', async (_, answer) => {
    const { made, token, sign } = await published(answer)
    const response = await made.fetch(await delivery({ token, sign }))
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('30')
    expect(await response.text()).toContain('keys-unavailable')
  })

  it('of somebody who is not believed are not even asked for', async () => {
    const { post, asked } = await published(() => Response.json({ keys: [] }))
    const sign = pushSigner({ keys: await newSigningKey(), issuer: 'https://attacker.example' })
    expect(await post({ sign })).toBe('401 signature')
    expect(asked).toEqual([])
  })
})
