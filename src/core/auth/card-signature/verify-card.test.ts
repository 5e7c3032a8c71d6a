import { assert as assertProperty, asyncProperty, constantFrom, context, nat } from 'fast-check'
import { exportJWK, FlattenedSign, generateKeyPair, type JWK } from 'jose'
import { describe, expect, it } from 'vitest'
import { fullCard } from '../../../../test/contracts/dialects/full-objects.ts'
import { startHttpServer } from '../../../../test/support/servers/http-server.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { encodeCardAs } from '../../dialects/served-card.ts'
import { pythonForm, specifiedForm } from './canonical-card.ts'
import { type CardKey, type SignatureAlgorithm, signCard } from './sign-card.ts'
import { createCardVerifier } from './verify-card.ts'

async function newKey(alg: SignatureAlgorithm, kid: string): Promise<{ signing: CardKey; pub: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { signing: { key: privateKey, kid, alg }, pub: { ...(await exportJWK(publicKey)), kid, alg } }
}

const { signatures: _, ...card } = encodeCardAs('1.0', fullCard('1.0'))

const schemes = { tls: { mtlsSecurityScheme: {} }, key: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }

/** A card with members that the cleaned form does not cover. */
const emptyish: JsonObject = {
  ...card,
  description: '',
  securitySchemes: schemes,
  securityRequirements: [{ schemes: { tls: {} } }],
}

describe('createCardVerifier', () => {
  it.each(['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'] as const)('a signature with %s is accepted', async (alg) => {
    const { signing, pub } = await newKey(alg, 'one')
    const signed = await signCard(card, signing)
    expect(await createCardVerifier({ keys: [pub] })(signed)).toEqual(signed)
    const { kid: _, ...nameless } = pub
    expect(await createCardVerifier({ keys: [nameless] })(signed)).toEqual(signed)
  })

  it.each([
    ['full', card],
    ['with empty members', emptyish],
  ])('a card with any changed, removed or added member is rejected: %s', async (_, original) => {
    const { signing, pub } = await newKey('ES256', 'one')
    const signed = await signCard(original, signing)
    const verify = createCardVerifier({ keys: [pub] })
    expect(await verify(signed)).toEqual(signed)
    const paths = pathsIn(original, [])
    expect(paths.length).toBeGreaterThan(50)
    let rejected = 0
    for (const path of paths) {
      for (const changed of [changedAt(signed, path, other), changedAt(signed, path, () => undefined)]) {
        // A change of a member that 1.0 does not have does not change the specified form.
        const verified = await verify(changed).catch((error) => error)
        if (verified instanceof Error) expect(verified.message).toContain('none of its signatures is valid')
        else expect(specifiedForm(changed).text, path.join('.')).toBe(specifiedForm(signed).text)
        if (verified instanceof Error) rejected++
      }
    }
    expect(rejected).toBeGreaterThan(paths.length)
  })

  it('a card with an arbitrary change is rejected, or returned as it was signed', async () => {
    const { signing, pub } = await newKey('EdDSA', 'one')
    const signed = await signCard(emptyish, signing)
    const verify = createCardVerifier({ keys: [pub] })
    const values: readonly Json[] = ['', 'x', null, true, false, 0, 1.5, [], {}, ['x'], { x: 'y' }, [{}], { x: {} }]
    const paths = pathsIn(emptyish, [])
    const changes = asyncProperty(nat(paths.length - 1), constantFrom(...values), context(), async (at, value, log) => {
      const changed = changedAt(signed, paths[at] ?? [], () => value)
      log.log(JSON.stringify(paths[at]))
      const verified = await verify(changed).catch(() => undefined)
      if (verified) expect(specifiedForm(verified).text).toBe(specifiedForm(signed).text)
    })
    await assertProperty(changes, { numRuns: 300 })
  })

  it('a signature of the Python SDK is accepted', async () => {
    const { signing, pub } = await newKey('ES256', 'one')
    const capabilities = { streaming: false, extensions: [{ uri: 'u', params: { a: 1, empty: '' } }] }
    const written = { ...emptyish, name: 'Grüße', capabilities }
    const { text } = pythonForm(written)
    expect(text).toContain('"capabilities":{"extensions":[{"params":{"a":1.0},"uri":"u"}],"streaming":false}')
    expect(text).toContain('"name":"Gr\\u00fc\\u00dfe"')
    const header = { alg: signing.alg, kid: 'one', typ: 'JOSE' }
    const jws = await new FlattenedSign(Buffer.from(text)).setProtectedHeader(header).sign(signing.key)
    const signature = { protected: jws.protected ?? '', signature: jws.signature }
    const verify = createCardVerifier({ keys: [pub] })
    const verified = await verify({ ...written, signatures: [signature] })
    expect(verified).toMatchObject({ name: 'Grüße', securitySchemes: { key: schemes.key } })
    expect(verified).not.toHaveProperty('securityRequirements')
    await expect(verify({ ...written, name: 'Another', signatures: [signature] })).rejects.toThrow('not the one')
  })

  it('members that are not signed are dropped', async () => {
    const { signing, pub } = await newKey('ES256', 'one')
    const signed = await signCard(card, signing)
    const hybrid = { ...signed, url: 'https://attacker.example', additionalInterfaces: [{ url: 'https://x.example' }] }
    expect(await createCardVerifier({ keys: [pub] })(hybrid)).toEqual(signed)
  })

  it('a card without a valid signature of a known key is rejected', async () => {
    const { signing, pub } = await newKey('ES256', 'one')
    const other = await newKey('ES256', 'one')
    const signed = await signCard(card, signing)
    const verify = createCardVerifier({ keys: [pub] })
    const { signatures: _, ...bare } = signed
    await expect(verify(bare)).rejects.toThrow('it is not signed')
    await expect(verify({ ...bare, signatures: [{ protected: 'e30' }] })).rejects.toThrow('protected and signature')
    await expect(verify(await signCard(card, { ...signing, kid: 'two' }))).rejects.toThrow('key "two" is not known')
    await expect(verify(await signCard(card, other.signing))).rejects.toThrow('not the one that "one" has signed')
    const strict = createCardVerifier({ keys: [pub], algorithms: ['EdDSA'] })
    await expect(strict(signed)).rejects.toThrow('"ES256" is no algorithm that is accepted')
    const none = Buffer.from(JSON.stringify({ alg: 'none', kid: 'one', typ: 'JOSE' })).toString('base64url')
    await expect(verify({ ...bare, signatures: [{ protected: none, signature: '' }] })).rejects.toThrow(
      '"none" is no alg',
    )
    const hmac = Buffer.from(JSON.stringify({ alg: 'HS256', kid: 'one' })).toString('base64url')
    await expect(verify({ ...bare, signatures: [{ protected: hmac, signature: '' }] })).rejects.toThrow('"HS256" is no')
    const many = Array.from({ length: 17 }, () => ({ protected: 'e30', signature: '' }))
    await expect(verify({ ...bare, signatures: many })).rejects.toThrow('more than 16')
  })

  it('one known key is enough, so that keys can be rotated', async () => {
    const old = await newKey('ES256', 'old')
    const young = await newKey('EdDSA', 'young')
    const signed = await signCard(card, [old.signing, young.signing])
    for (const { pub } of [old, young]) expect(await createCardVerifier({ keys: [pub] })(signed)).toEqual(signed)
  })

  it('a verifier without trusted keys is an error', () => {
    expect(() => createCardVerifier({})).toThrow('createCardVerifier: expected keys, jwks or trustedOrigins')
  })
})

describe('remote keys', () => {
  async function keyServer() {
    const keys: JWK[] = []
    const requests: string[] = []
    const origin = await startHttpServer((request, response) => {
      requests.push(request.url ?? '')
      if (request.url === '/huge') response.end(`{"keys":["${'x'.repeat(300_000)}"]}`)
      else response.end(JSON.stringify({ keys }))
    })
    return { keys, requests, origin, jwks: `${origin}/jwks.json` }
  }

  it('keys are fetched once, and again for an unknown key after the cooldown', async () => {
    const server = await keyServer()
    const old = await newKey('ES256', 'old')
    const young = await newKey('ES256', 'young')
    server.keys.push(old.pub)
    const verify = createCardVerifier({ jwks: server.jwks, cooldown: 0 })
    const byOld = await signCard(card, old.signing)
    await Promise.all([verify(byOld), verify(byOld)])
    await verify(byOld)
    expect(server.requests).toHaveLength(1)
    server.keys.splice(0, 1, young.pub)
    await verify(await signCard(card, young.signing))
    expect(server.requests).toHaveLength(2)
    await expect(verify(byOld)).rejects.toThrow('key "old" is not known')
    const cooling = createCardVerifier({ jwks: server.jwks })
    for (let n = 0; n < 3; n++) await expect(cooling(byOld)).rejects.toThrow('key "old" is not known')
    expect(server.requests).toHaveLength(4)
  })

  it('a signature can name its key set on a trusted origin', async () => {
    const server = await keyServer()
    const { signing, pub } = await newKey('ES256', 'one')
    server.keys.push(pub)
    const signed = await signCard(card, { ...signing, jku: server.jwks })
    expect(await createCardVerifier({ trustedOrigins: [server.origin] })(signed)).toEqual(signed)
    expect(server.requests).toHaveLength(1)
    const stranger = createCardVerifier({ trustedOrigins: ['https://keys.example'] })
    await expect(stranger(signed)).rejects.toThrow('key "one" is not known')
    expect(server.requests).toHaveLength(1)
  })

  it('several keys can have one name', async () => {
    const server = await keyServer()
    const { signing, pub } = await newKey('ES256', 'one')
    server.keys.push((await newKey('ES256', 'one')).pub, pub)
    const signed = await signCard(card, signing)
    expect(await createCardVerifier({ jwks: server.jwks })(signed)).toEqual(signed)
  })

  it('a very long key set is rejected', async () => {
    const server = await keyServer()
    const { signing } = await newKey('ES256', 'one')
    const verify = createCardVerifier({ jwks: `${server.origin}/huge` })
    await expect(verify(await signCard(card, signing))).rejects.toThrow('longer than 262144')
  })
})

type Path = readonly (string | number)[]

/** Every member and item of a value, at whatever depth. */
function pathsIn(value: Json, at: Path): Path[] {
  if (typeof value !== 'object' || value === null) return []
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return keys.flatMap((key) => {
    const inner = (value as Record<string | number, Json>)[key]
    return [[...at, key], ...(inner === undefined ? [] : pathsIn(inner, [...at, key]))]
  })
}

/** A copy with one member changed, or removed if the change returns undefined. */
function changedAt(original: JsonObject, path: Path, change: (value: Json) => Json | undefined): JsonObject {
  const copy: Record<string, Json> = structuredClone(original)
  let holder: Record<string | number, Json> = copy
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string | number, Json>
  const last = path.at(-1) ?? ''
  const value = change(holder[last] ?? null)
  if (value !== undefined) holder[last] = value
  else if (Array.isArray(holder)) holder.splice(Number(last), 1)
  else delete holder[last]
  return copy
}

/** Another value of the same type. */
function other(value: Json): Json {
  if (typeof value === 'string') return `${value}x`
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1
  if (Array.isArray(value)) return [...value, value[0] ?? 'x']
  return { ...(value as JsonObject), added: 'x' }
}
