import { generateKeyPair, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { bearerToken, credentialsIn } from '../../test/support/auth/request-credentials.ts'
import { audience, type Issuer, startIssuer } from '../../test/support/auth/token-issuer.ts'
import type { AuthResult } from './scheme.ts'
import { type JwtOptions, jwt, openId } from './schemes/tokens.ts'

const now = () => Math.floor(Date.now() / 1000)

function schemeOf({ url, keysUrl }: Issuer, options: Partial<JwtOptions> = {}) {
  return jwt({ issuer: url, audience, keys: { url: keysUrl }, ...options })
}

async function verdict(issuer: Issuer, token: string, options?: Partial<JwtOptions>): Promise<AuthResult> {
  return await schemeOf(issuer, options).authenticate(bearerToken(token))
}

it.each(['ES256', 'RS256', 'EdDSA', 'PS256'])('takes a token signed by %s', async (alg) => {
  const issuer = await startIssuer({ alg })
  expect(await verdict(issuer, await issuer.token())).toMatchObject({
    principal: { id: 'alice', scopes: ['read', 'write'], claims: { iss: issuer.url } },
  })
})

describe('a token', () => {
  it.each<[string, (issuer: Issuer) => Promise<string>, Partial<JwtOptions>?]>([
    ['that has expired', ({ token }) => token({ exp: now() - 31 })],
    ['that is not good yet', ({ token }) => token({ nbf: now() + 31 })],
    ['for another audience', ({ token }) => token({ aud: 'https://other.test' })],
    ['for no audience', ({ token }) => token({ aud: undefined })],
    ['of another issuer', ({ token }) => token({ iss: 'https://evil.test' })],
    ['that never expires', ({ token }) => token({ exp: undefined })],
    ['of nobody', ({ token }) => token({ sub: undefined })],
    ['of the anonymous', ({ token }) => token({ sub: '' })],
    ['of an unknown key', ({ token }) => token({}, { kid: 'other' })],
    ['of an algorithm that is not listed', ({ token }) => token(), { algorithms: ['ES384'] }],
    ['of another type', ({ token }) => token({}, { typ: 'JWT' }), { typ: 'at+jwt' }],
    ['without a tenant', ({ token }) => token(), { tenantClaim: 'tid' }],
    ['that was changed', async ({ token }) => changed(await token())],
    ['whose signature was cut off', async ({ token }) => (await token()).replace(/[^.]*$/, '')],
    ['without a signature (alg: none)', async ({ token }) => unsigned(await token())],
    ['that is none', async () => 'x.y.z'],
    ['of one letter', async () => 'x'],
    ['of a megabyte', async () => 'x'.repeat(2 ** 20)],
    ['with an unknown crit', async (issuer) => critical(issuer)],
  ])('%s is refused', async (_, make, options) => {
    const issuer = await startIssuer()
    expect(await verdict(issuer, await make(issuer), options)).toEqual({ reason: expect.any(String) })
  })

  it('signed with the public key as if it were a secret is refused, whatever is listed', async () => {
    const issuer = await startIssuer({ alg: 'RS256' })
    const published = await (await fetch(issuer.keysUrl)).text()
    const claims = { iss: issuer.url, aud: audience, sub: 'eve', exp: now() + 60 }
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(new TextEncoder().encode(published))
    expect(await verdict(issuer, forged)).toHaveProperty('reason')
    expect(await verdict(issuer, forged, { algorithms: ['RS256', 'HS256'] })).toHaveProperty('reason')
  })

  it('with a key of its own in the header is refused', async () => {
    const issuer = await startIssuer()
    const { privateKey } = await generateKeyPair('ES256')
    const forged = await new SignJWT({ iss: issuer.url, aud: audience, sub: 'eve', exp: now() + 60 })
      .setProtectedHeader({ alg: 'ES256', kid: 'key-1', jku: 'http://127.0.0.1:1/jwks' })
      .sign(privateKey)
    expect(await verdict(issuer, forged)).toHaveProperty('reason')
  })

  it('that is bound to a key is refused without it, also when it is remembered', async () => {
    const issuer = await startIssuer()
    const scheme = schemeOf(issuer)
    const bound = bearerToken(await issuer.token({ cnf: { jkt: 'x' } }))
    expect(await scheme.authenticate(bound)).toHaveProperty('reason')
    expect(await scheme.authenticate(bound)).toHaveProperty('reason')
  })

  it('may be late by as much as clocks differ', async () => {
    const issuer = await startIssuer()
    const token = await issuer.token({ exp: now() - 50 })
    expect(await verdict(issuer, token, { clockSkew: 60 })).toHaveProperty('principal')
    expect(await verdict(issuer, token, { clockSkew: 0 })).toHaveProperty('reason')
  })

  it('that was good is refused when it has expired, although it is remembered', async () => {
    const issuer = await startIssuer()
    const scheme = schemeOf(issuer, { clockSkew: 0 })
    const token = await issuer.token({ exp: now() + 2 })
    expect(await scheme.authenticate(bearerToken(token))).toHaveProperty('principal')
    await expect
      .poll(() => scheme.authenticate(bearerToken(token)), { timeout: 5_000, interval: 100 })
      .toHaveProperty('reason')
  })

  it('is one of alice in another tenant, under another prefix, or as the operator reads it', async () => {
    const issuer = await startIssuer()
    const token = await issuer.token({ tid: 'acme', scp: ['admin'], scope: undefined })
    const ask = (options: Partial<JwtOptions>) => verdict(issuer, token, options)
    expect(await ask({ tenantClaim: 'tid' })).toMatchObject({
      principal: { id: 'alice', tenant: 'acme', scopes: ['admin'] },
    })
    expect(await ask({ idPrefix: 'corp:' })).toMatchObject({ principal: { id: 'corp:alice' } })
    const expires = expect.any(Number)
    expect(await ask({ principal: ({ sub }) => ({ id: `${sub}!` }) })).toEqual({ principal: { id: 'alice!', expires } })
    expect(await ask({ principal: () => undefined })).toHaveProperty('reason')
  })
})

describe('keys', () => {
  it('are fetched once for many tokens, and once more when a token names a new one', async () => {
    const issuer = await startIssuer()
    const scheme = schemeOf(issuer, { keys: { url: issuer.keysUrl, cooldown: 0 } })
    for (let n = 0; n < 5; n++) {
      expect(await scheme.authenticate(bearerToken(await issuer.token({ n })))).toHaveProperty('principal')
    }
    expect(issuer.fetches()).toBe(1)
    await issuer.rotate()
    expect(await scheme.authenticate(bearerToken(await issuer.token()))).toHaveProperty('principal')
    expect(issuer.fetches()).toBe(2)
  })

  it('are not fetched again and again by who names keys that do not exist', async () => {
    const issuer = await startIssuer()
    const scheme = schemeOf(issuer)
    for (let n = 0; n < 20; n++) {
      expect(await scheme.authenticate(bearerToken(await issuer.token({}, { kid: `no-${n}` })))).toHaveProperty(
        'reason',
      )
    }
    expect(issuer.fetches()).toBe(1)
  })

  it('that were good stay so while they cannot be fetched, for as long as was said', async () => {
    const issuer = await startIssuer()
    const keys = { url: issuer.keysUrl, cacheFor: 0, cooldown: 0, staleFor: 0.6 }
    const scheme = schemeOf(issuer, { keys })
    expect(await scheme.authenticate(bearerToken(await issuer.token({ n: 1 })))).toHaveProperty('principal')
    issuer.fail(500)
    expect(await scheme.authenticate(bearerToken(await issuer.token({ n: 2 })))).toHaveProperty('principal')
    const late = async () => scheme.authenticate(bearerToken(await issuer.token({ n: Math.random() })))
    await expect
      .poll(late, { timeout: 5_000, interval: 50 })
      .toMatchObject({ reason: 'the keys of the issuer cannot be fetched' })
    expect(await late()).toHaveProperty('cause')
    issuer.fail(200)
    expect(await late()).toHaveProperty('principal')
  })

  it('that never came refuse everybody, and say so to the operator', async () => {
    const issuer = await startIssuer()
    issuer.fail(503)
    expect(await verdict(issuer, await issuer.token())).toMatchObject({
      cause: { message: expect.stringContaining('503') },
    })
  })

  it('can be given, also several for tokens that do not name theirs', async () => {
    const [one, two, three] = await Promise.all(
      ['a', 'b', 'c'].map(() => generateKeyPair('ES256', { extractable: true })),
    )
    const { exportJWK } = await import('jose')
    const jwks = [await exportJWK(one?.publicKey as CryptoKey), await exportJWK(two?.publicKey as CryptoKey)]
    const scheme = jwt({ issuer: 'https://i.test', audience, keys: { jwks } })
    const sign = (key: CryptoKey | undefined) =>
      new SignJWT({ iss: 'https://i.test', aud: audience, client_id: 'robot', exp: now() + 60 })
        .setProtectedHeader({ alg: 'ES256' })
        .sign(key as CryptoKey)
    expect(await scheme.authenticate(bearerToken(await sign(two?.privateKey)))).toMatchObject({
      principal: { id: 'robot' },
    })
    expect(await scheme.authenticate(bearerToken(await sign(three?.privateKey)))).toHaveProperty('reason')
  })

  it('can be a secret, which takes nothing but HS256', async () => {
    const secret = crypto.getRandomValues(new Uint8Array(32))
    const scheme = jwt({ issuer: 'https://i.test', audience, keys: { secret } })
    const sign = (alg: string) =>
      new SignJWT({ iss: 'https://i.test', aud: audience, sub: 'a', exp: now() + 60 })
        .setProtectedHeader({ alg })
        .sign(secret)
    expect(await scheme.authenticate(bearerToken(await sign('HS256')))).toHaveProperty('principal')
    expect(await scheme.authenticate(bearerToken(await sign('HS512')))).toHaveProperty('reason')
  })
})

describe('an issuer that describes itself', () => {
  it('is believed about its keys', async () => {
    const issuer = await startIssuer()
    const scheme = openId({ issuer: issuer.url, audience })
    expect(await scheme.authenticate(bearerToken(await issuer.token()))).toMatchObject({ principal: { id: 'alice' } })
    expect(scheme.card).toEqual({ type: 'openid', url: `${issuer.url}/.well-known/openid-configuration` })
  })

  it('is not believed if it is another one than was asked for', async () => {
    const issuer = await startIssuer()
    const other = issuer.url.replace('127.0.0.1', 'localhost')
    const verdict = await openId({ issuer: other, audience }).authenticate(
      bearerToken(await issuer.token({ iss: other })),
    )
    expect(verdict).toMatchObject({ cause: { message: expect.stringContaining('is the configuration of') } })
  })
})

it('leaves what is no bearer token to others', async () => {
  const issuer = await startIssuer()
  expect(await schemeOf(issuer).authenticate(credentialsIn())).toBeUndefined()
  expect(
    await schemeOf(issuer).authenticate(credentialsIn({ headers: { authorization: 'Basic YTpi' } })),
  ).toBeUndefined()
})

it.each<[string, Partial<JwtOptions>, string]>([
  ['no issuer', { issuer: '' }, 'issuer: expected'],
  ['no audience', { audience: [] }, 'audience: expected'],
  ['keys in the clear', { keys: { url: 'http://issuer.test/jwks' } }, 'https://'],
  ['no keys', { keys: { jwks: [] } }, 'at least one'],
  ['a short secret', { keys: { secret: new Uint8Array(8) } }, '32 bytes'],
  ['the algorithm none', { algorithms: ['none'] }, 'none proves nothing'],
])('takes no declaration with %s', (_, options, problem) => {
  const good = { issuer: 'https://i.test', audience, keys: { url: 'https://i.test/jwks' } }
  expect(() => jwt({ ...good, ...options })).toThrow(problem)
})

function changed(token: string): string {
  const [header, payload = '', signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: 'eve' })).toString('base64url')}.${signature}`
}

function unsigned(token: string): string {
  const [, payload] = token.split('.')
  return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`
}

async function critical({ token }: Issuer): Promise<string> {
  const [, payload, signature] = (await token()).split('.')
  const header = { alg: 'ES256', kid: 'key-1', crit: ['x'], x: 1 }
  return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`
}
