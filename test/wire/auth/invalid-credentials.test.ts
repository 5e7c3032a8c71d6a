import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { apiKey, hashApiKey, jwt } from '../../../src/entries/auth.ts'
import { audience, type Issuer, startIssuer } from '../../support/auth/token-issuer.ts'
import { silentLogger } from '../../support/logger.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { exchangeBytes } from '../../support/wire/raw-http1.ts'
import { getOverHttp2 } from '../../support/wire/raw-http2.ts'

describe('invalid credentials', () => {
  async function startWithJwt() {
    const issuer = await startIssuer()
    const scheme = jwt({ issuer: issuer.url, audience, keys: { url: issuer.keysUrl } })
    const errors: unknown[] = []
    const logger = { ...silentLogger, error: (fields: object) => errors.push(fields) }
    const { server, wire } = await startTestServer(async () => 'hi', {
      auth: { schemes: { corp: scheme } },
      grpc: true,
      logger,
    })
    return { issuer, server, wire, errors }
  }

  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = () => Math.floor(Date.now() / 1000)
  const payloadOf = async ({ token }: Issuer) => (await token()).split('.')[1] ?? ''

  it.each<[string, (issuer: Issuer) => Promise<string>]>([
    ['expired', ({ token }) => token({ exp: now() - 3600 })],
    ['not valid yet', ({ token }) => token({ nbf: now() + 3600 })],
    ['for another audience', ({ token }) => token({ aud: 'https://other.test' })],
    ['from another issuer', ({ token }) => token({ iss: 'https://other.test' })],
    ['without an expiry', ({ token }) => token({ exp: undefined })],
    ['not signed', async (issuer) => `${base64({ alg: 'none' })}.${await payloadOf(issuer)}.`],
    ['signed with the public key as a secret', (issuer) => signedWithPublicKey(issuer)],
    ['signed with an unknown key', ({ token }) => token({}, { kid: 'unknown' })],
    ['modified', async ({ token }) => `${(await token()).slice(0, -4)}AAAA`],
    ['not a JWT', async () => 'garbage'],
  ])('a token that is %s gets 401 with a challenge and without a reason', async (_, make) => {
    const { issuer, server } = await startWithJwt()
    const authorization = `Bearer ${await make(issuer)}`
    const response = await fetch(`${server.url}/tasks`, { headers: { 'a2a-version': '1.0', authorization } })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Test", error="invalid_token"')
    const { error } = (await response.json()) as { error: { message: string } }
    expect(error.message).toBe('The credentials were not accepted.')
  })

  async function signedWithPublicKey({ keysUrl, url }: Issuer): Promise<string> {
    const { keys } = (await (await fetch(keysUrl)).json()) as { keys: readonly [object] }
    const secret = Buffer.from(JSON.stringify(keys[0]).padEnd(64))
    const claims = { iss: url, aud: audience, sub: 'alice', exp: now() + 60 }
    return await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'key-1' }).sign(secret)
  }

  it('repeated Authorization headers are rejected in any order, over HTTP/1.1 and HTTP/2', async () => {
    const { issuer, server } = await startWithJwt()
    const token = await issuer.token()
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} })
    const post = (...authorizations: string[]) =>
      exchangeBytes(server.port, [
        [
          'POST / HTTP/1.1',
          'host: x',
          'content-type: application/json',
          'a2a-version: 1.0',
          ...authorizations.map((value) => `authorization: ${value}`),
          `content-length: ${body.length}`,
          '',
          body,
        ].join('\r\n'),
      ])
    expect((await post(`Bearer ${token}`)).status).toBe(200)
    for (const both of [
      [`Bearer ${token}`, `Bearer ${token}`],
      [`Bearer ${token}`, 'Basic YTpi'],
      ['Basic YTpi', `Bearer ${token}`],
    ]) {
      const response = await post(...both)
      expect(response.status).toBe(401)
      expect(response.head).toContain('www-authenticate: bearer realm="test", error="invalid_token"')
    }
    expect(await getOverHttp2(server.port, [`Bearer ${token}`])).toContain('"tasks"')
    expect(await getOverHttp2(server.port, [`Bearer ${token}`, `Bearer ${token}`])).toContain('"code":401')
  })

  it('a token is rejected with a challenge when the keys cannot be fetched, and the error is logged', async () => {
    const { issuer, server, errors } = await startWithJwt()
    issuer.fail(500)
    const headers = { 'a2a-version': '1.0', authorization: `Bearer ${await issuer.token()}` }
    const response = await fetch(`${server.url}/tasks`, { headers })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Test", error="invalid_token"')
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ error: { message: 'The credentials were not accepted.' } })
    expect(text).not.toMatch(/issuer|keys|jwks|fetch|127\.0\.0\.1/i)
    expect(errors).toMatchObject([{ scheme: 'corp', reason: 'the keys of the issuer cannot be fetched' }])
  })

  it('cached keys stay in use while new ones cannot be fetched, until staleFor has passed', async () => {
    const issuer = await startIssuer()
    const keys = { url: issuer.keysUrl, cacheFor: 0, staleFor: 1.5, cooldown: 0 }
    const auth = { schemes: { corp: jwt({ issuer: issuer.url, audience, keys }) } }
    const { server } = await startTestServer(async () => 'hi', { auth })
    const statusFor = async (claims: object) => {
      const authorization = `Bearer ${await issuer.token({ jti: crypto.randomUUID(), ...claims })}`
      const response = await fetch(`${server.url}/tasks`, { headers: { 'a2a-version': '1.0', authorization } })
      return [response.status, response.headers.get('www-authenticate')]
    }
    const challenge = 'Bearer realm="Test", error="invalid_token"'
    expect(await statusFor({})).toEqual([200, null])
    issuer.fail(503)
    expect(await statusFor({})).toEqual([200, null])
    expect(await statusFor({ aud: 'other' })).toEqual([401, challenge])
    await expect.poll(() => statusFor({}), { timeout: 10_000, interval: 100 }).toEqual([401, challenge])
    issuer.fail(200)
    expect(await statusFor({})).toEqual([200, null])
  })

  it('rejected credentials appear neither in responses nor in logs', async () => {
    const logged: unknown[] = []
    const record = (fields: object, message: string) => logged.push(fields, message)
    const logger = { debug: record, info: record, warn: record, error: record }
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada-key') }] })
    const { wire } = await startTestServer(async () => 'hi', { auth: { schemes: { key } }, logger })
    const response = await wire.post({ jsonrpc: '2.0', id: 1, method: 'ListTasks' }, { 'x-api-key': 'planted-secret' })
    expect(await response.text()).not.toContain('planted-secret')
    expect([...response.headers.values()].join()).not.toContain('planted-secret')
    expect(JSON.stringify(logged)).not.toContain('planted-secret')
    expect(logged).toContain('credentials were refused')
  })
})
