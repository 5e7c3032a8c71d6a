import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { apiKey, hashApiKey, jwt } from '../../src/entries/auth.ts'
import { audience, type Issuer, startIssuer } from '../support/auth/token-issuer.ts'
import { silentLogger } from '../support/logger.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { exchangeBytes } from '../support/wire/raw-http1.ts'
import { getOverHttp2 } from '../support/wire/raw-http2.ts'

describe('bad credentials on the wire', () => {
  async function openJwt() {
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
    ['not good yet', ({ token }) => token({ nbf: now() + 3600 })],
    ['for another audience', ({ token }) => token({ aud: 'https://other.test' })],
    ['of another issuer', ({ token }) => token({ iss: 'https://other.test' })],
    ['without an end', ({ token }) => token({ exp: undefined })],
    ['not signed', async (issuer) => `${base64({ alg: 'none' })}.${await payloadOf(issuer)}.`],
    ['signed with the public key as a secret', (issuer) => confused(issuer)],
    ['of a key that nobody knows', ({ token }) => token({}, { kid: 'nobody' })],
    ['changed', async ({ token }) => `${(await token()).slice(0, -4)}AAAA`],
    ['no token at all', async () => 'rubbish'],
  ])('get a 401 with a challenge, and no word of why: a token that is %s', async (_, make) => {
    const { issuer, server } = await openJwt()
    const authorization = `Bearer ${await make(issuer)}`
    const response = await fetch(`${server.url}/tasks`, { headers: { 'a2a-version': '1.0', authorization } })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Test", error="invalid_token"')
    const { error } = (await response.json()) as { error: { message: string } }
    expect(error.message).toBe('The credentials were not accepted.')
  })

  async function confused({ keysUrl, url }: Issuer): Promise<string> {
    const { keys } = (await (await fetch(keysUrl)).json()) as { keys: readonly [object] }
    const secret = Buffer.from(JSON.stringify(keys[0]).padEnd(64))
    const claims = { iss: url, aud: audience, sub: 'alice', exp: now() + 60 }
    return await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'key-1' }).sign(secret)
  }

  it('sent twice are refused, over HTTP/1.1 and HTTP/2, in whichever order', async () => {
    const { issuer, server } = await openJwt()
    const token = await issuer.token()
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} })
    const post = (...authorizations: string[]) =>
      exchangeBytes(server.port, [
        [
          'POST / HTTP/1.1',
          'host: x',
          'content-type: application/json',
          'a2a-version: 1.0',
          ...authorizations.map((each) => `authorization: ${each}`),
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
      const answer = await post(...both)
      expect(answer.status).toBe(401)
      expect(answer.head).toContain('www-authenticate: bearer realm="test", error="invalid_token"')
    }
    expect(await getOverHttp2(server.port, [`Bearer ${token}`])).toContain('"tasks"')
    expect(await getOverHttp2(server.port, [`Bearer ${token}`, `Bearer ${token}`])).toContain('"code":401')
  })

  it('are refused with a challenge when the keys cannot be fetched, and the operator is told', async () => {
    const { issuer, server, errors } = await openJwt()
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

  it('are judged by the last good keys while those cannot be fetched, within a bound', async () => {
    const issuer = await startIssuer()
    const keys = { url: issuer.keysUrl, cacheFor: 0, staleFor: 1.5, cooldown: 0 }
    const auth = { schemes: { corp: jwt({ issuer: issuer.url, audience, keys }) } }
    const { server } = await startTestServer(async () => 'hi', { auth })
    const ask = async (claims: object) => {
      const authorization = `Bearer ${await issuer.token({ jti: crypto.randomUUID(), ...claims })}`
      const response = await fetch(`${server.url}/tasks`, { headers: { 'a2a-version': '1.0', authorization } })
      return [response.status, response.headers.get('www-authenticate')]
    }
    const challenge = 'Bearer realm="Test", error="invalid_token"'
    expect(await ask({})).toEqual([200, null])
    issuer.fail(503)
    expect(await ask({})).toEqual([200, null])
    expect(await ask({ aud: 'other' })).toEqual([401, challenge])
    await expect.poll(() => ask({}), { timeout: 10_000, interval: 100 }).toEqual([401, challenge])
    issuer.fail(200)
    expect(await ask({})).toEqual([200, null])
  })

  it('are never told back, nor logged', async () => {
    const logged: unknown[] = []
    const note = (fields: object, message: string) => logged.push(fields, message)
    const logger = { debug: note, info: note, warn: note, error: note }
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada-key') }] })
    const { wire } = await startTestServer(async () => 'hi', { auth: { schemes: { key } }, logger })
    const response = await wire.post({ jsonrpc: '2.0', id: 1, method: 'ListTasks' }, { 'x-api-key': 'planted-secret' })
    expect(await response.text()).not.toContain('planted-secret')
    expect([...response.headers.values()].join()).not.toContain('planted-secret')
    expect(JSON.stringify(logged)).not.toContain('planted-secret')
    expect(logged).toContain('credentials were refused')
  })
})
