import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import type { ConnectOptions } from '../../src/core/client/options.ts'
import { grpc } from '../../src/core/node/grpc-client.ts'
import type { AuthOptions, Scheme } from '../../src/entries/auth.ts'
import { jwt, oauth2, openId } from '../../src/entries/auth.ts'
import { clientCredentials } from '../../src/entries/client-auth.ts'
import {
  confidentialClient,
  introspectionClient,
  type OidcServer,
  startOidcServer,
} from '../support/auth/oidc-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const resource = 'https://agent.test/'

function open(scheme: Scheme, more: AuthOptions = {}) {
  return startTestServer(async (turn) => `${turn.principal.id}: ${turn.principal.scopes?.join(' ')}`, {
    auth: { schemes: { corp: scheme }, ...more },
    grpc: true,
  })
}

/** Calls with the client of this package, which finds the token endpoint through the card. */
async function call(url: string, { origin }: OidcServer, options: ConnectOptions = {}): Promise<string> {
  const program = clientCredentials({
    ...confidentialClient,
    issuer: origin,
    scopes: ['read'],
    parameters: { resource },
  })
  return (await (await connect(url, { auth: [program], ...options })).send('who am I?')).text
}

/** Requests a token with client credentials. */
async function requestToken(
  { origin }: OidcServer,
  parameters: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { clientId, clientSecret } = confidentialClient
  const response = await fetch(`${origin}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read', ...parameters }),
  })
  return (await response.json()).access_token
}

async function statusFor(url: string, token: string): Promise<number> {
  return (await fetch(`${url}/tasks`, { headers: { authorization: `Bearer ${token}` } })).status
}

describe('authentication with an OpenID provider', () => {
  it('openId accepts tokens of its issuer with the right audience', async () => {
    const provider = await startOidcServer()
    const { server } = await open(openId({ issuer: provider.origin, audience: resource }), {
      require: [{ corp: ['read'] }],
    })
    expect(await call(server.url, provider)).toBe('program: read')
    expect(await call(server.url, provider, { bindings: ['HTTP+JSON'], dialects: ['v0.3'] })).toBe('program: read')
    const transport = grpc({ loopback: 'allow' })
    onTestFinished(() => transport.close())
    expect(await call(server.url, provider, { bindings: [transport] })).toBe('program: read')
    expect(await statusFor(server.url, await requestToken(provider, { resource: 'https://other.test/' }))).toBe(401)
    expect(await statusFor(server.url, await requestToken(provider))).toBe(401)
  })

  it('jwt accepts tokens signed with keys from the key URL', async () => {
    const provider = await startOidcServer()
    const keys = { url: `${provider.origin}/jwks` }
    const { server } = await open(jwt({ issuer: provider.origin, audience: resource, keys, typ: 'at+jwt' }))
    expect(await statusFor(server.url, await requestToken(provider, { resource }))).toBe(200)
  })

  it('oauth2 with introspection accepts opaque tokens', async () => {
    const provider = await startOidcServer()
    const flow = {
      type: 'client-credentials',
      tokenUrl: `${provider.origin}/token`,
      scopes: { read: 'Reads reports' },
    } as const
    const introspection = { url: `${provider.origin}/token/introspection`, ...introspectionClient }
    const { server } = await open(oauth2({ flow, introspection }), { require: [{ corp: ['read'] }] })
    const opaque = await requestToken(provider)
    expect(opaque).not.toContain('.')
    expect(await statusFor(server.url, opaque)).toBe(200)
    expect(await statusFor(server.url, `${opaque.slice(0, -1)}x`)).toBe(401)
    const program = clientCredentials({ ...confidentialClient, tokenUrl: flow.tokenUrl })
    expect((await (await connect(server.url, { auth: [program] })).send('who?')).text).toBe('program: read')
  })
})
