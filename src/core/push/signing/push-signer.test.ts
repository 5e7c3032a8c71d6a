import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { createKeyRing, newSigningKey } from '../../auth/key-ring.ts'
import { contentDigest, readSignature, readSignatureInputs, signatureBase } from './http-signature.ts'
import { pushSigner } from './push-signer.ts'

const issuer = 'https://agent.example.com'
const url = 'https://me.example.com/hook?tenant=1'
const headers = {
  'content-type': 'application/json',
  'x-a2a-delivery-id': 'd-1',
  'x-a2a-generation': '4',
  'x-a2a-task-id': 't-1',
}
const body = '{"task":{}}'
const bytes = new TextEncoder().encode(body)

describe('pushSigner', () => {
  it.each(['ES256', 'EdDSA'] as const)(
    'a token names the issuer, the audience, the time, the delivery and the body: %s',
    async (alg) => {
      const ring = createKeyRing(await newSigningKey(alg, 'k'))
      const sign = pushSigner({ keys: ring, issuer, now: () => 1_700_000_000_500 })
      const { authorization = '', ...others } = await sign({ url, headers, body })
      expect(others).toEqual({})
      const keys = createLocalJWKSet({ keys: [...(await ring.published())] })
      const currentDate = new Date(1_700_000_000_000)
      const { payload, protectedHeader } = await jwtVerify(authorization.replace('Bearer ', ''), keys, { currentDate })
      expect(protectedHeader).toEqual({ alg, kid: 'k', typ: 'JWT' })
      expect(payload).toEqual({
        iss: issuer,
        aud: url,
        iat: 1_700_000_000,
        exp: 1_700_000_300,
        jti: 'd-1',
        taskId: 't-1',
        generation: '4',
        request_body_sha256: '47a01a2d1352adb8773eee89173e90baa56028ac3db592fca8bec7ae61c2427b',
      })
    },
  )

  it('the credentials of the config are not replaced', async () => {
    const sign = pushSigner({ keys: await newSigningKey(), issuer })
    const added = await sign({ url, headers: { ...headers, Authorization: 'Basic abc' }, body })
    expect(Object.keys(added)).toEqual(['x-a2a-signature'])
    expect(decodeJwt(added['x-a2a-signature'] ?? '').jti).toBe('d-1')
  })

  it.each(['ES256', 'EdDSA'] as const)(
    'an HTTP signature covers the URL, the body and the A2A headers: %s',
    async (alg) => {
      const key = await newSigningKey(alg, 'k')
      const sign = pushSigner({ keys: key, issuer, form: 'http-signature', now: () => 1_700_000_000_000 })
      const added = await sign({ url, headers, body })
      const [input] = readSignatureInputs(added['signature-input'] ?? '')
      expect(input).toMatchObject({
        label: 'a2a',
        created: 1_700_000_000,
        expires: 1_700_000_300,
        keyid: 'k',
        nonce: 'd-1',
      })
      const all = new Headers({ ...headers, ...added })
      const message = { method: 'POST', url, header: (name: string) => all.get(name) ?? undefined }
      const base = signatureBase(message, input?.components ?? [], input?.signatureParams ?? '')
      expect(base).toContain(`"@target-uri": ${url}\n`)
      expect(base).toContain(`"content-digest": ${await contentDigest(bytes)}\n`)
      expect(base).toContain('"x-a2a-generation": 4\n')
      const signature = readSignature(added.signature ?? '', 'a2a') ?? new Uint8Array()
      const isEc = alg === 'ES256'
      const { d: _, ...pub } = key.key
      const form = isEc ? { name: 'ECDSA', namedCurve: 'P-256' } : { name: 'Ed25519' }
      const imported = await crypto.subtle.importKey('jwk', pub as JsonWebKey, form, false, ['verify'])
      const parameters = isEc ? { name: 'ECDSA', hash: 'SHA-256' } : { name: 'Ed25519' }
      expect(await crypto.subtle.verify(parameters, imported, signature, new TextEncoder().encode(base))).toBe(true)
    },
  )

  it('an issuer that is not a URL is rejected', async () => {
    const keys = await newSigningKey()
    expect(() => pushSigner({ keys, issuer: 'me' })).toThrow(
      'pushSigner: issuer: expected an absolute http or https URL',
    )
  })
})
