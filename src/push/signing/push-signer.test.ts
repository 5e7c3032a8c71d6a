import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { keyRing, newSigningKey } from '../../auth/key-ring.ts'
import { contentDigest, isDigestOf, readSignatureInputs, signatureBase, signatureOf } from './http-signature.ts'
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

describe('a signed delivery', () => {
  it.each(['ES256', 'EdDSA'] as const)(
    'bears a token that says who, for whom, when, which and what: %s',
    async (alg) => {
      const ring = keyRing(await newSigningKey(alg, 'k'))
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

  it('leaves the credentials of the config alone', async () => {
    const sign = pushSigner({ keys: await newSigningKey(), issuer })
    const added = await sign({ url, headers: { ...headers, Authorization: 'Basic abc' }, body })
    expect(Object.keys(added)).toEqual(['x-a2a-signature'])
    expect(decodeJwt(added['x-a2a-signature'] ?? '').jti).toBe('d-1')
  })

  it.each(['ES256', 'EdDSA'] as const)('bears a signature by RFC 9421: %s', async (alg) => {
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
    const base = signatureBase(message, input?.components ?? [], input?.text ?? '')
    expect(base).toContain(`"@target-uri": ${url}\n`)
    expect(base).toContain(`"content-digest": ${await contentDigest(bytes)}\n`)
    expect(base).toContain('"x-a2a-generation": 4\n')
    const signature = Buffer.from(signatureOf(added.signature ?? '', 'a2a') ?? '', 'base64')
    const isEc = alg === 'ES256'
    const { d: _, ...pub } = key.key
    const form = isEc ? { name: 'ECDSA', namedCurve: 'P-256' } : { name: 'Ed25519' }
    const imported = await crypto.subtle.importKey('jwk', pub as JsonWebKey, form, false, ['verify'])
    const parameters = isEc ? { name: 'ECDSA', hash: 'SHA-256' } : { name: 'Ed25519' }
    expect(await crypto.subtle.verify(parameters, imported, signature, new TextEncoder().encode(base))).toBe(true)
  })

  it('needs an issuer that is an address', async () => {
    const keys = await newSigningKey()
    expect(() => pushSigner({ keys, issuer: 'me' })).toThrow('issuer: expected an address, got "me"')
  })
})

describe('RFC 9421 and RFC 9530', () => {
  it('give the text and the signature of the example B.2.6', async () => {
    const parameters =
      '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"'
    const given = new Map([
      ['date', 'Tue, 20 Apr 2021 02:07:55 GMT'],
      ['content-type', 'application/json'],
      ['content-length', '18'],
    ])
    const [input] = readSignatureInputs(`sig-b26=${parameters}`)
    expect(input).toMatchObject({ label: 'sig-b26', text: parameters, keyid: 'test-key-ed25519', created: 1618884473 })
    const message = {
      method: 'POST',
      url: 'https://example.com/foo?param=Value&Pet=dog',
      header: (name: string) => given.get(name),
    }
    const base = signatureBase(message, input?.components ?? [], parameters) ?? ''
    expect(base).toBe(
      [
        '"date": Tue, 20 Apr 2021 02:07:55 GMT',
        '"@method": POST',
        '"@path": /foo',
        '"@authority": example.com',
        '"content-type": application/json',
        '"content-length": 18',
        `"@signature-params": ${parameters}`,
      ].join('\n'),
    )
    const header = 'sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:'
    const signature = Buffer.from(signatureOf(header, 'sig-b26') ?? '', 'base64')
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' }
    const key = await crypto.subtle.importKey('jwk', jwk, { name: 'Ed25519' }, false, ['verify'])
    expect(await crypto.subtle.verify({ name: 'Ed25519' }, key, signature, new TextEncoder().encode(base))).toBe(true)
  })

  it('know a digest that is right, in both algorithms, and none that is wrong or unknown', async () => {
    const hello = new TextEncoder().encode('{"hello": "world"}')
    const short = 'sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:'
    const long = 'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:'
    expect(await contentDigest(hello)).toBe(short)
    expect(await isDigestOf(short, hello)).toBe(true)
    expect(await isDigestOf(`${short}, ${long}`, hello)).toBe(true)
    expect(await isDigestOf(`${short}, ${long}`, bytes)).toBe(false)
    expect(await isDigestOf('md5=:AAAA:', hello)).toBe(false)
    expect(await isDigestOf('', hello)).toBe(false)
  })

  it('read no signature with parameters that are not known, and at most four', () => {
    expect(readSignatureInputs('a=("x";req);created=1')).toEqual([])
    expect(readSignatureInputs('nothing')).toEqual([])
    expect(readSignatureInputs(Array.from({ length: 9 }, (_, n) => `s${n}=("@method")`).join(', '))).toHaveLength(4)
  })
})
