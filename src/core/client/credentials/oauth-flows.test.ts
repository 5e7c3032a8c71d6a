import { createHash } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { type OAuthServer, presentsToken, startOAuthServer } from '../../../../test/support/auth/oauth-server.ts'
import {
  type AuthenticatingAgentOptions,
  startAuthenticatingAgent,
} from '../../../../test/support/servers/authenticating-agent.ts'
import { closedPort, respondWith, startHttpServer } from '../../../../test/support/servers/http-server.ts'
import type { JsonObject } from '../../base/json.ts'
import type { CredentialProvider } from '../../protocol/credentials.ts'
import { connect } from '../connect.ts'
import type { OAuthClient, Token, TokenStorage } from './oauth-client.ts'
import { authorizationCode, clientCredentials, deviceCode } from './oauth-flows.ts'

const secret = 'planted+secret/%5f2c'
const program = { clientId: 'me', clientSecret: secret }

const flows = {
  clientCredentials: ({ tokenUrl }: OAuthServer) => ({ tokenUrl, scopes: { read: 'Reads' } }),
  deviceCode: ({ tokenUrl, origin }: OAuthServer) => ({
    tokenUrl,
    deviceAuthorizationUrl: `${origin}/device`,
    scopes: {},
  }),
  authorizationCode: ({ tokenUrl, origin }: OAuthServer) => ({
    tokenUrl,
    authorizationUrl: `${origin}/authorize`,
    scopes: {},
  }),
}

/** An agent that accepts the tokens of a server, by one flow. */
async function startProtectedAgent(
  server: OAuthServer,
  flow: keyof typeof flows | 'openid',
  more: Partial<AuthenticatingAgentOptions> = {},
) {
  const openIdConnectUrl = `${server.origin}/.well-known/openid-configuration`
  const scheme: JsonObject =
    flow === 'openid'
      ? { openIdConnectSecurityScheme: { openIdConnectUrl } }
      : { oauth2SecurityScheme: { flows: { [flow]: flows[flow](server) } } }
  return await startAuthenticatingAgent({
    card: () => ({
      securitySchemes: { oauth: scheme },
      securityRequirements: [{ schemes: { oauth: { list: ['read', 'write'] } } }],
    }),
    accepts: ({ headers }) => presentsToken(server, headers),
    ...more,
  })
}

async function failureOf(origin: string, provider: CredentialProvider) {
  const client = await connect(origin, { auth: [provider] })
  const failure = await client.send('Hello').catch((error) => error)
  const all = JSON.stringify([failure.message, failure.hint, failure, `${failure.cause}`, client.explain()])
  expect(all).not.toContain(secret)
  expect(all).not.toContain(encodeURIComponent(secret))
  return failure
}

describe('clientCredentials', () => {
  it('one token with the scopes of the card is shared by all calls', async () => {
    const server = await startOAuthServer()
    const { origin, requestLines } = await startProtectedAgent(server, 'clientCredentials')
    const { tokenUrl } = server
    const auth = [clientCredentials({ ...program, tokenUrl, scopes: ['more', 'read'], parameters: { audience: 'a' } })]
    const client = await connect(origin, { auth })
    await Promise.all([client.send('1'), client.send('2'), Array.fromAsync(client.stream('3'))])
    expect((await client.send('4')).text).toBe('Welcome')
    const authorization = `Basic ${Buffer.from('me:planted%2Bsecret%2F%255f2c').toString('base64')}`
    expect(server.tokenRequests).toEqual([
      { grant_type: 'client_credentials', scope: 'read write more', audience: 'a', authorization },
    ])
    expect(requestLines.filter((line) => line.endsWith('401'))).toEqual([])
  })

  it('a token storage keeps tokens for the next process, which requests none', async () => {
    const server = await startOAuthServer()
    const agent = await startProtectedAgent(server, 'clientCredentials')
    const saved = new Map<string, Token>()
    const tokens: TokenStorage = { load: (name) => saved.get(name), save: (name, token) => void saved.set(name, token) }
    for (let process = 1; process <= 2; process++) {
      const provider = clientCredentials({ ...program, tokenUrl: server.tokenUrl, tokens })
      await (await connect(agent.origin, { auth: [provider] })).send('Hello')
    }
    expect(server.tokenRequests).toHaveLength(1)
    expect([...saved.values()]).toMatchObject([{ accessToken: [...server.validTokens][0] }])
  })

  it('the secret can be sent in the form', async () => {
    const server = await startOAuthServer()
    const { origin } = await startProtectedAgent(server, 'clientCredentials')
    const options = { ...program, tokenUrl: server.tokenUrl, clientAuthentication: 'post' } as const
    await (await connect(origin, { auth: [clientCredentials(options)] })).send('Hello')
    expect(server.tokenRequests).toMatchObject([{ client_id: 'me', client_secret: secret, authorization: '' }])
  })

  it('an expired or rejected token is renewed once for all waiting calls', async () => {
    const server = await startOAuthServer()
    const { origin, requestLines } = await startProtectedAgent(server, 'clientCredentials')
    const client = await connect(origin, { auth: [clientCredentials({ ...program, tokenUrl: server.tokenUrl })] })
    await client.send('Hello')
    server.validTokens.clear()
    await Promise.all([client.send('1'), client.send('2'), Array.fromAsync(client.stream('3'))])
    expect(server.tokenRequests).toHaveLength(2)
    expect(requestLines.filter((line) => line.endsWith('401'))).toHaveLength(3)
    server.expiresIn = 100
    server.validTokens.clear()
    await client.send('Hello')
    expect(server.tokenRequests).toHaveLength(3)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 90_000 })
    try {
      await client.send('Hello')
    } finally {
      vi.useRealTimers()
    }
    expect(server.tokenRequests).toHaveLength(4)
  })

  it('a protected card is fetched with a token from discovery or from the pinned endpoint', async () => {
    const server = await startOAuthServer()
    const protectedAgent = await startProtectedAgent(server, 'openid', { isCardProtected: true })
    for (const place of [{ issuer: server.origin }, { tokenUrl: server.tokenUrl }]) {
      const client = await connect(protectedAgent.origin, { auth: [clientCredentials({ ...program, ...place })] })
      expect((await client.send('Hello')).text).toBe('Welcome')
    }
  })

  it('the secret is not sent to a server that only the card names', async () => {
    const server = await startOAuthServer()
    const attacker = await startOAuthServer()
    expect(() => clientCredentials(program)).toThrow(
      'clientCredentials: say by tokenUrl or issuer who may get the secret',
    )
    for (const flow of ['clientCredentials', 'openid'] as const) {
      const { origin } = await startProtectedAgent(attacker, flow)
      for (const place of [{ issuer: server.origin }, { tokenUrl: server.tokenUrl }]) {
        const failure = await failureOf(origin, clientCredentials({ ...program, ...place }))
        expect(failure.reason).toMatch(/^credentials-(unfit|not-trusted)$/)
      }
    }
    expect(attacker.tokenRequests).toEqual([])
    const { origin } = await startProtectedAgent(attacker, 'clientCredentials')
    const trusting = clientCredentials({ ...program, trustCard: true })
    expect((await (await connect(origin, { auth: [trusting] })).send('Hello')).text).toBe('Welcome')
  })

  it('an error shows the OAuth code and nothing else of the response', async () => {
    const server = await startOAuthServer()
    const { origin } = await startProtectedAgent(server, 'clientCredentials')
    const provider = (client: Partial<OAuthClient> = {}) =>
      clientCredentials({ ...program, tokenUrl: server.tokenUrl, ...client })
    server.responses.push({ status: 401, body: { error: 'invalid_client', error_description: `no ${secret}` } })
    const refused = await failureOf(origin, provider())
    expect(refused).toMatchObject({ code: 'unauthenticated', reason: 'credentials-refused' })
    expect(refused.message).toBe(`${server.tokenUrl} gives no token: invalid_client.`)
    for (const body of [{ error: secret }, {}, { access_token: 7 }, [secret]]) {
      server.responses.push({ status: 400, body })
      expect(await failureOf(origin, provider())).toMatchObject({ reason: 'credentials-refused' })
    }
    server.responses.push({ status: 200, body: secret })
    expect(await failureOf(origin, provider())).toMatchObject({ reason: 'credentials-garbage' })
    server.responses.push({ status: 200, body: { access_token: secret, token_type: 'DPoP' } })
    expect(await failureOf(origin, provider())).toMatchObject({ reason: 'credentials-unfit' })
    server.responses.push({ status: 200, body: { pad: 'x'.repeat(70_000) } })
    expect(await failureOf(origin, provider())).toMatchObject({ reason: 'credentials-unreachable' })
    const elsewhere = await startOAuthServer()
    server.responses.push({ status: 307, body: {}, headers: { location: elsewhere.tokenUrl } })
    expect(await failureOf(origin, provider())).toMatchObject({ reason: 'credentials-unreachable' })
    expect(elsewhere.tokenRequests).toEqual([])
  })

  it('the secret is not sent without TLS, and an unreachable server is reported', async () => {
    const server = await startOAuthServer()
    const gone = { ...server, tokenUrl: `http://127.0.0.1:${await closedPort()}/token` }
    const open = { ...server, tokenUrl: 'http://tokens.example/token' }
    for (const [at, reason] of [
      [gone, 'credentials-unreachable'],
      [open, 'credentials-not-secure'],
    ] as const) {
      const { origin } = await startProtectedAgent(at, 'clientCredentials')
      expect(await failureOf(origin, clientCredentials({ ...program, tokenUrl: at.tokenUrl }))).toMatchObject({
        reason,
      })
    }
  })

  it('a discovery document of another issuer is rejected', async () => {
    const server = await startOAuthServer()
    const impostor = await startHttpServer(respondWith(200, { issuer: server.origin, token_endpoint: server.tokenUrl }))
    const { origin } = await startProtectedAgent({ ...server, origin: impostor }, 'openid')
    const failure = await failureOf(origin, clientCredentials({ ...program, trustCard: true }))
    expect(failure).toMatchObject({ reason: 'credentials-not-trusted' })
  })

  it('an issuer with a path may end with a slash', async () => {
    const server = await startOAuthServer()
    const issuer = await startHttpServer((request, response) =>
      respondWith(200, { issuer: `${issuer}/realm/`, token_endpoint: server.tokenUrl })(request, response),
    )
    const { origin } = await startProtectedAgent({ ...server, origin: `${issuer}/realm` }, 'openid')
    const auth = [clientCredentials({ ...program, issuer: `${issuer}/realm/` })]
    expect((await (await connect(origin, { auth })).send('Hello')).text).toBe('Welcome')
  })

  it('members of a response that the standards forbid are ignored', async () => {
    const server = await startOAuthServer()
    const { origin } = await startProtectedAgent(server, 'clientCredentials')
    server.validTokens.add('token')
    const body = { access_token: 'token', expires_in: null, scope: ['read'], id_token: 7, refresh_token: '' }
    server.responses.push({ status: 201, body })
    const auth = [clientCredentials({ ...program, tokenUrl: server.tokenUrl })]
    expect((await (await connect(origin, { auth })).send('Hello')).text).toBe('Welcome')
  })
})

describe('deviceCode', () => {
  it('the user code is shown once, and the client polls until the user has agreed', async () => {
    const server = await startOAuthServer()
    const { origin } = await startProtectedAgent(server, 'deviceCode')
    const prompts: string[] = []
    // Some servers report the error with status 200.
    server.responses.push({ status: 200, body: { error: 'authorization_pending' } })
    const onPrompt = ({ userCode, verificationUri }: { userCode: string; verificationUri: string }) =>
      void prompts.push(`${userCode} ${verificationUri}`)
    const client = await connect(origin, { auth: [deviceCode({ clientId: 'me', onPrompt })] })
    await Promise.all([client.send('1'), client.send('2')])
    expect(prompts).toEqual([`ABCD ${server.origin}/go`])
    expect(server.tokenRequests).toHaveLength(2)
    expect(server.tokenRequests[1]).toMatchObject({ device_code: 'device', client_id: 'me' })
  })

  it('a denial by the user is an error', async () => {
    const server = await startOAuthServer()
    const { origin } = await startProtectedAgent(server, 'deviceCode')
    server.responses.push({ status: 400, body: { error: 'access_denied' } })
    const failure = await failureOf(origin, deviceCode({ clientId: 'me', onPrompt: () => {} }))
    expect(failure).toMatchObject({ reason: 'credentials-refused', hint: 'The user or the server denied access.' })
  })
})

describe('authorizationCode', () => {
  const redirectUri = 'http://127.0.0.1/callback'

  it('the code is exchanged with PKCE, and the token is refreshed without the user', async () => {
    const server = await startOAuthServer()
    server.hasRefreshTokens = true
    const { origin } = await startProtectedAgent(server, 'authorizationCode')
    const visits: URL[] = []
    const authorize = async (url: string) => {
      const visit = new URL(url)
      visits.push(visit)
      return `/callback?code=abc&state=${visit.searchParams.get('state')}`
    }
    const client = await connect(origin, { auth: [authorizationCode({ clientId: 'me', redirectUri, authorize })] })
    await client.send('Hello')
    const [visit] = visits
    const [exchange] = server.tokenRequests
    expect(Object.fromEntries(visit?.searchParams ?? [])).toMatchObject({
      response_type: 'code',
      client_id: 'me',
      redirect_uri: redirectUri,
      scope: 'read write',
      code_challenge_method: 'S256',
      code_challenge: createHash('sha256')
        .update(exchange?.code_verifier ?? '')
        .digest('base64url'),
    })
    expect(exchange).toMatchObject({ grant_type: 'authorization_code', code: 'abc', redirect_uri: redirectUri })
    const [token] = server.validTokens
    server.validTokens.clear()
    await client.send('Hello')
    expect(server.tokenRequests[1]).toMatchObject({ grant_type: 'refresh_token', refresh_token: `refresh-${token}` })
    server.validTokens.clear()
    server.responses.push({ status: 400, body: { error: 'invalid_grant' } })
    await client.send('Hello')
    expect(visits).toHaveLength(2)
  })

  it('a redirect with another state or an error is rejected', async () => {
    const server = await startOAuthServer()
    const { origin } = await startProtectedAgent(server, 'authorizationCode')
    for (const [query, reason] of [
      ['?code=abc&state=another', 'credentials-not-trusted'],
      ['?code=abc', 'credentials-not-trusted'],
      ['?error=access_denied&state=', 'credentials-refused'],
    ] as const) {
      const authorize = async (url: string) =>
        `${redirectUri}${query.replace(/state=$/, `state=${new URL(url).searchParams.get('state')}`)}`
      const provider = authorizationCode({ clientId: 'me', redirectUri, authorize })
      expect(await failureOf(origin, provider)).toMatchObject({ reason })
    }
    expect(server.tokenRequests).toEqual([])
  })
})
