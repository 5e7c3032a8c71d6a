import { createHash } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { bearerToken, credentialsIn } from '../../../test/support/auth/request-credentials.ts'
import { audience, type Issuer, startIssuer } from '../../../test/support/auth/token-issuer.ts'
import type { Json } from '../base/json.ts'
import { checkConfirmation } from './jwt.ts'
import type { AuthResult } from './scheme.ts'
import { type JwtOptions, jwt, oauth2, openId } from './schemes/tokens.ts'

const digest = createHash('sha256').update('a certificate')
const fingerprint = digest.copy().digest('hex')
const thumbprint = digest.copy().digest('base64url')
const peerCertificate = { isTrusted: true, subject: 'CN=x', names: {}, fingerprint }

const secret = new Uint8Array(32)

const now = () => Math.floor(Date.now() / 1000)

function schemeOf({ url, keysUrl }: Issuer, options: Partial<JwtOptions> = {}) {
  return jwt({ issuer: url, audience, keys: { url: keysUrl }, ...options })
}

async function authenticate(issuer: Issuer, token: string, options?: Partial<JwtOptions>): Promise<AuthResult> {
  return await schemeOf(issuer, options).authenticate(bearerToken(token))
}

it.each(['ES256', 'RS256', 'EdDSA', 'PS256'])('a token signed by %s is accepted', async (alg) => {
  const issuer = await startIssuer({ alg })
  expect(await authenticate(issuer, await issuer.token())).toMatchObject({
    principal: { id: 'alice', scopes: ['read', 'write'], claims: { iss: issuer.url } },
  })
})

describe('a token', () => {
  it.each<[string, (issuer: Issuer) => Promise<string>, Partial<JwtOptions>?]>([
    ['that has expired', ({ token }) => token({ exp: now() - 31 })],
    ['that is not valid yet', ({ token }) => token({ nbf: now() + 45 })],
    ['for another audience', ({ token }) => token({ aud: 'https://other.test' })],
    ['for no audience', ({ token }) => token({ aud: undefined })],
    ['of another issuer', ({ token }) => token({ iss: 'https://evil.test' })],
    ['that never expires', ({ token }) => token({ exp: undefined })],
    ['without a principal', ({ token }) => token({ sub: undefined })],
    ['with an empty subject', ({ token }) => token({ sub: '' })],
    ['of an unknown key', ({ token }) => token({}, { kid: 'other' })],
    ['of an algorithm that is not listed', ({ token }) => token(), { algorithms: ['ES384'] }],
    ['of another type', ({ token }) => token({}, { typ: 'JWT' }), { typ: 'at+jwt' }],
    ['without a tenant', ({ token }) => token(), { tenantClaim: 'tid' }],
    ['that was changed', async ({ token }) => changed(await token())],
    ['whose signature was cut off', async ({ token }) => (await token()).replace(/[^.]*$/, '')],
    ['without a signature (alg: none)', async ({ token }) => unsigned(await token())],
    ['that is not a JWT', async () => 'x.y.z'],
    ['of one letter', async () => 'x'],
    ['of a megabyte', async () => 'x'.repeat(2 ** 20)],
    ['with an unknown crit', async (issuer) => critical(issuer)],
  ])('a token %s is rejected', async (_, make, options) => {
    const issuer = await startIssuer()
    expect(await authenticate(issuer, await make(issuer), options)).toEqual({ reason: expect.any(String) })
  })

  it('a token that uses the public key as a secret is rejected, even if HS256 is listed', async () => {
    const issuer = await startIssuer({ alg: 'RS256' })
    const published = await (await fetch(issuer.keysUrl)).text()
    const claims = { iss: issuer.url, aud: audience, sub: 'eve', exp: now() + 60 }
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(new TextEncoder().encode(published))
    expect(await authenticate(issuer, forged)).toHaveProperty('reason')
    expect(await authenticate(issuer, forged, { algorithms: ['RS256', 'HS256'] })).toHaveProperty('reason')
  })

  it('a token that names its own key set is rejected', async () => {
    const issuer = await startIssuer()
    const { privateKey } = await generateKeyPair('ES256')
    const forged = await new SignJWT({ iss: issuer.url, aud: audience, sub: 'eve', exp: now() + 60 })
      .setProtectedHeader({ alg: 'ES256', kid: 'key-1', jku: 'http://127.0.0.1:1/jwks' })
      .sign(privateKey)
    expect(await authenticate(issuer, forged)).toHaveProperty('reason')
  })

  it('a token that is bound to a key is rejected without it, also from the cache', async () => {
    const issuer = await startIssuer()
    const scheme = schemeOf(issuer)
    const bound = bearerToken(await issuer.token({ cnf: { jkt: 'x' } }))
    expect(await scheme.authenticate(bound)).toHaveProperty('reason')
    expect(await scheme.authenticate(bound)).toHaveProperty('reason')
  })

  it('a token may be late by the clock skew', async () => {
    const issuer = await startIssuer()
    const token = await issuer.token({ exp: now() - 50 })
    expect(await authenticate(issuer, token, { clockSkew: 60 })).toHaveProperty('principal')
    expect(await authenticate(issuer, token, { clockSkew: 0 })).toHaveProperty('reason')
  })

  it('a cached token is rejected once it has expired', async () => {
    const issuer = await startIssuer()
    const scheme = schemeOf(issuer, { clockSkew: 0 })
    const token = await issuer.token({ exp: now() + 2 })
    expect(await scheme.authenticate(bearerToken(token))).toHaveProperty('principal')
    await expect
      .poll(() => scheme.authenticate(bearerToken(token)), { timeout: 5_000, interval: 100 })
      .toHaveProperty('reason')
  })

  it('options determine the tenant, the prefix and the principal of a token', async () => {
    const issuer = await startIssuer()
    const token = await issuer.token({ tid: 'acme', scp: ['admin'], scope: undefined })
    const principalWith = (options: Partial<JwtOptions>) => authenticate(issuer, token, options)
    expect(await principalWith({ tenantClaim: 'tid' })).toMatchObject({
      principal: { id: 'alice', tenant: 'acme', scopes: ['admin'] },
    })
    expect(await principalWith({ idPrefix: 'corp:' })).toMatchObject({ principal: { id: 'corp:alice' } })
    const expires = expect.any(Number)
    expect(await principalWith({ principal: ({ sub }) => ({ id: `${sub}!` }) })).toEqual({
      principal: { id: 'alice!', expires },
      isKept: true,
    })
    expect(await principalWith({ principal: () => undefined })).toHaveProperty('reason')
  })
})

describe('keys', () => {
  it('keys are fetched once, and again when a token names a new one', async () => {
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

  it('tokens that name unknown keys cause no further fetch', async () => {
    const issuer = await startIssuer()
    const scheme = schemeOf(issuer)
    for (let n = 0; n < 20; n++) {
      expect(await scheme.authenticate(bearerToken(await issuer.token({}, { kid: `no-${n}` })))).toHaveProperty(
        'reason',
      )
    }
    expect(issuer.fetches()).toBe(1)
  })

  it('stale keys are used while they cannot be fetched, for a limited time', async () => {
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

  it('without keys every token is rejected, and the operator sees why', async () => {
    const issuer = await startIssuer()
    issuer.fail(503)
    expect(await authenticate(issuer, await issuer.token())).toMatchObject({
      cause: { message: expect.stringContaining('503') },
    })
  })

  it('a token that does not name its key is checked with every given key', async () => {
    const [one, two, three] = await Promise.all(
      ['a', 'b', 'c'].map(() => generateKeyPair('ES256', { extractable: true })),
    )
    const jwks = [await exportJWK(one?.publicKey as CryptoKey), await exportJWK(two?.publicKey as CryptoKey)]
    const scheme = jwt({ issuer: 'https://i.test', audience, keys: { jwks } })
    const ofKeySet = jwt({ issuer: 'https://i.test', audience, keys: { jwks: { keys: jwks } } })
    const sign = (key: CryptoKey | undefined) =>
      new SignJWT({ iss: 'https://i.test', aud: audience, client_id: 'robot', exp: now() + 60 })
        .setProtectedHeader({ alg: 'ES256' })
        .sign(key as CryptoKey)
    for (const { authenticate } of [scheme, ofKeySet]) {
      expect(await authenticate(bearerToken(await sign(two?.privateKey)))).toMatchObject({ principal: { id: 'robot' } })
    }
    expect(() => jwt({ issuer: 'https://i.test', audience, keys: { jwks: { keys: [] } } })).toThrow(
      'expected a JWK Set',
    )
    expect(await scheme.authenticate(bearerToken(await sign(three?.privateKey)))).toHaveProperty('reason')
  })

  it('a secret accepts only HS256', async () => {
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

describe('openId', () => {
  it('the configuration of the issuer names its keys', async () => {
    const issuer = await startIssuer()
    const scheme = openId({ issuer: issuer.url, audience })
    expect(await scheme.authenticate(bearerToken(await issuer.token()))).toMatchObject({ principal: { id: 'alice' } })
    expect(scheme.card).toEqual({ type: 'openid', url: `${issuer.url}/.well-known/openid-configuration` })
  })

  it('the configuration of another issuer is rejected', async () => {
    const issuer = await startIssuer()
    const other = issuer.url.replace('127.0.0.1', 'localhost')
    const result = await openId({ issuer: other, audience }).authenticate(
      bearerToken(await issuer.token({ iss: other })),
    )
    expect(result).toMatchObject({ cause: { message: expect.stringContaining('is the configuration of') } })
  })
})

it('other credentials than a bearer token are ignored', async () => {
  const issuer = await startIssuer()
  expect(await schemeOf(issuer).authenticate(credentialsIn())).toBeUndefined()
  expect(
    await schemeOf(issuer).authenticate(credentialsIn({ headers: { authorization: 'Basic YTpi' } })),
  ).toBeUndefined()
})

it.each<[string, Partial<JwtOptions>, string]>([
  ['no issuer', { issuer: '' }, 'issuer: expected'],
  ['no audience', { audience: [] }, 'audience: expected'],
  ['keys without TLS', { keys: { url: 'http://issuer.test/jwks' } }, 'https://'],
  ['no keys', { keys: { jwks: [] } }, 'at least one'],
  ['a short secret', { keys: { secret: new Uint8Array(8) } }, '32 bytes'],
  [
    'no key source',
    { keys: undefined as never },
    'keys: expected one of { url }, { jwks } and { secret }, got undefined',
  ],
  ['an empty key source', { keys: {} as never }, 'got none of them'],
  ['a URL as a text', { keys: 'https://i.test/jwks' as never }, 'keys: expected one of'],
  ['a secret as a text', { keys: { secret: 's'.repeat(40) as never } }, 'keys.secret: expected bytes'],
  ['a secret as a list', { keys: { secret: Array(40).fill(1) as never } }, 'keys.secret: expected bytes'],
  ['no secret', { keys: { secret: undefined as never } }, 'got none of them'],
  ['two key sources', { keys: { url: 'https://i.test/jwks', secret } as never }, 'got url and secret'],
  [
    'a key as a text',
    { keys: { jwks: ['-----BEGIN PUBLIC KEY-----'] as never } },
    'keys.jwks[0]: expected a JSON Web Key',
  ],
  ['a key set as a text', { keys: { jwks: '{"keys":[]}' as never } }, 'keys.jwks: expected a JWK Set'],
  ['a key without a type', { keys: { jwks: [{ n: 'x', e: 'AQAB' } as never] } }, 'keys.jwks[0].kty: expected EC, RSA'],
  ['a key without its members', { keys: { jwks: [{ kty: 'EC', crv: 'P-256', x: 'x' }] } }, 'needs y'],
  ['a private key', { keys: { jwks: [{ kty: 'OKP', crv: 'Ed25519', x: 'x', d: 'd' }] } }, 'expected a public key'],
  ['the algorithm none', { algorithms: ['none'] }, 'none proves nothing'],
  ['no algorithm', { algorithms: [] }, 'algorithms: expected a list with at least one name'],
  ['only secret algorithms for public keys', { algorithms: ['HS256'] }, 'public keys can verify ES256'],
  ['only public algorithms for a secret', { algorithms: ['RS256'], keys: { secret } }, 'a secret can verify HS256'],
])('%s in the options is an error', (_, options, problem) => {
  const good = { issuer: 'https://i.test', audience, keys: { url: 'https://i.test/jwks' } }
  expect(() => jwt({ ...good, ...options })).toThrow(problem)
  const { keys = good.keys, ...rules } = { ...good, ...options }
  const flow = { type: 'client-credentials', tokenUrl: 'https://i.test/token', scopes: {} } as const
  if (options.keys !== undefined) expect(() => oauth2({ flow, jwt: { ...rules, keys } })).toThrow(problem)
})

it('the error of a wrong secret does not contain it', () => {
  const planted = { secret: 'planted-secret-planted-secret-planted' as never }
  const error = (() => {
    try {
      return jwt({ issuer: 'https://i.test', audience, keys: planted })
    } catch (thrown) {
      return thrown
    }
  })()
  expect(`${error}`).toContain('new TextEncoder().encode')
  expect(`${error}`).not.toContain('planted')
})

describe('the scopes of a token', () => {
  it.each<[string, object, readonly string[]]>([
    ['a text with spaces', { scope: ' read  write ' }, ['read', 'write']],
    ['a list', { scope: ['read', 'write'] }, ['read', 'write']],
    ['both claims', { scope: 'read', scp: ['write', 'read'] }, ['read', 'write']],
    ['an empty list', { scope: [] }, []],
    ['null', { scope: null, scp: undefined }, []],
  ])('the scopes of %s are read', async (_, claims, scopes) => {
    const issuer = await startIssuer()
    expect(await authenticate(issuer, await issuer.token({ scope: undefined, ...claims }))).toMatchObject({
      principal: { scopes },
    })
  })

  it.each<[string, object]>([
    ['a list with two scopes in one item', { scope: ['read admin'] }],
    ['a list with a number', { scope: ['read', 1] }],
    ['a list with a list', { scp: [['admin']] }],
    ['an object', { scope: { admin: true } }],
    ['a number', { scope: 7 }],
    ['a text with a line feed', { scope: 'read\nadmin' }],
    ['a list with an empty text', { scope: ['read', ''] }],
  ])('a token whose scope is %s is rejected', async (_, claims) => {
    const issuer = await startIssuer()
    expect(await authenticate(issuer, await issuer.token({ scope: undefined, ...claims }))).toEqual({
      reason: expect.stringContaining('scope'),
    })
  })
})

describe('checkConfirmation', () => {
  it('an unbound token is accepted from every caller', () => {
    expect(check(undefined, undefined)).toHaveProperty('principal')
  })

  it('a token that is bound to a certificate is accepted with that certificate', () => {
    expect(check({ 'x5t#S256': thumbprint }, peerCertificate)).toHaveProperty('principal')
  })

  it.each<[string, Json, typeof peerCertificate | undefined]>([
    ['a certificate that was not sent', { 'x5t#S256': thumbprint }, undefined],
    ['another certificate', { 'x5t#S256': thumbprint }, { ...peerCertificate, fingerprint: 'ab'.repeat(32) }],
    ['a key that is proven by DPoP', { jkt: 'x' }, peerCertificate],
    ['a certificate and something else', { 'x5t#S256': thumbprint, jkt: 'x' }, peerCertificate],
    ['something unreadable', 'x', peerCertificate],
  ])('a token that is bound to %s is rejected', (_, confirmation, certificate) => {
    expect(check(confirmation, certificate)).toHaveProperty('reason')
  })

  it('other results stay unchanged', () => {
    expect(checkConfirmation(undefined, credentialsIn())).toBeUndefined()
    expect(checkConfirmation({ reason: 'x' }, credentialsIn())).toEqual({ reason: 'x' })
  })
})

function check(confirmation: Json | undefined, certificate: typeof peerCertificate | undefined) {
  const result = { principal: { id: 'alice' }, ...(confirmation !== undefined && { confirmation }) }
  return checkConfirmation(result, credentialsIn({ certificate: () => certificate }))
}

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
