import { describe, expect, it } from 'vitest'
import { contentDigest, isDigestOf, readSignature, readSignatureInputs, signatureBase } from './http-signature.ts'

describe('HTTP message signatures (RFC 9421)', () => {
  it('the signature of the example in appendix B.2.6 is valid', async () => {
    const parameters =
      '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"'
    const headers = new Map([
      ['date', 'Tue, 20 Apr 2021 02:07:55 GMT'],
      ['content-type', 'application/json'],
      ['content-length', '18'],
    ])
    const [input] = readSignatureInputs(`sig-b26=${parameters}`)
    expect(input).toMatchObject({
      label: 'sig-b26',
      signatureParams: parameters,
      keyid: 'test-key-ed25519',
      created: 1618884473,
    })
    const message = {
      method: 'POST',
      url: 'https://example.com/foo?param=Value&Pet=dog',
      header: (name: string) => headers.get(name),
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
    const signature = readSignature(header, 'sig-b26') ?? new Uint8Array()
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' }
    const key = await crypto.subtle.importKey('jwk', jwk, { name: 'Ed25519' }, false, ['verify'])
    expect(await crypto.subtle.verify({ name: 'Ed25519' }, key, signature, new TextEncoder().encode(base))).toBe(true)
  })

  it('signatures with component parameters are ignored, and at most four are read', () => {
    expect(readSignatureInputs('a=("x";req);created=1')).toEqual([])
    expect(readSignatureInputs('nothing')).toEqual([])
    expect(readSignatureInputs(Array.from({ length: 9 }, (_, n) => `s${n}=("@method")`).join(', '))).toHaveLength(4)
  })

  it('a member with a malformed or undefined parameter is ignored', () => {
    for (const parameters of ['created=?1', 'created=1.5', 'keyid=token', 'key-id="k"', 'keyid="a\\"b"', 'req']) {
      expect(readSignatureInputs(`a=("@method");${parameters}, b=("@method");created=1`)).toMatchObject([
        { label: 'b' },
      ])
    }
    for (const components of ['("")', '("a b")', '("a/b")', '(token)', '"@method"', '(']) {
      expect(readSignatureInputs(`a=${components};created=1`)).toEqual([])
    }
  })

  it('a header that is not a structured dictionary has no signatures', () => {
    expect(readSignatureInputs('a=("@method");created=1 garbage')).toEqual([])
    expect(readSignature('a=:AAAA:, b=:AA', 'a')).toBeUndefined()
    expect(readSignature('a="AAAA"', 'a')).toBeUndefined()
  })

  it('the signed parameters are in canonical form', () => {
    const [input] = readSignatureInputs('a=( "@method"  "@path" ); created=1;keyid="k"')
    expect(input?.signatureParams).toBe('("@method" "@path");created=1;keyid="k"')
  })
})

describe('content digests (RFC 9530)', () => {
  it('a digest is accepted in both algorithms, and refused if it is wrong or unknown', async () => {
    const hello = new TextEncoder().encode('{"hello": "world"}')
    const short = 'sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:'
    const long = 'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:'
    expect(await contentDigest(hello)).toBe(short)
    expect(await isDigestOf(short, hello)).toBe(true)
    expect(await isDigestOf(`${short}, ${long}`, hello)).toBe(true)
    expect(await isDigestOf(`${short}, ${long}`, new TextEncoder().encode('{}'))).toBe(false)
    expect(await isDigestOf('md5=:AAAA:', hello)).toBe(false)
    expect(await isDigestOf('', hello)).toBe(false)
  })
})
