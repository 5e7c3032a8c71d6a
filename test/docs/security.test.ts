import { createHmac } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import { apiKeyCredentials, basicCredentials, clientCredentials } from '../../src/entries/client-auth.ts'
import { createCertificate } from '../support/auth/certificates.ts'
import {
  confidentialClient,
  introspectionClient,
  type OidcServer,
  startOidcServer,
} from '../support/auth/oidc-server.ts'
import { readAsSnippet } from '../support/package/snippets.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'
import { byKey, issueKey } from './security/api-key.ts'
import { byPassword } from './security/basic.ts'
import { byTokenOrKeyAndToken } from './security/combined.ts'
import { bySignedName } from './security/custom.ts'
import { byIntrospection } from './security/introspection.ts'
import { byToken } from './security/jwt.ts'
import { byCertificate } from './security/mutual-tls.ts'
import { byOpenId } from './security/open-id.ts'
import { withPolicy } from './security/policy.ts'

const page = await readFile(new URL('../../docs/guides/security.md', import.meta.url), 'utf8')
const recipes = new URL('./security/', import.meta.url)

it('the page shows every recipe file', async () => {
  const snippets = Array.from(page.matchAll(/```ts\n(.*?)```/gs), ([, code]) => code)
  const names = await readdir(recipes)
  expect(names).toHaveLength(9)
  for (const name of names) {
    expect(snippets).toContain(await readAsSnippet(new URL(name, recipes)))
  }
})

const audience = 'https://reports.example.com/'

async function open(options: TestServerOptions): Promise<string> {
  const { server } = await startTestServer(async (turn) => `${turn.principal.id}: ${turn.principal.scopes}`, options)
  return server.url
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
    body: new URLSearchParams({ grant_type: 'client_credentials', ...parameters }),
  })
  return (await response.json()).access_token
}

const statusOf = async (url: string, headers: Readonly<Record<string, string>> = {}) =>
  (await fetch(`${url}/tasks`, { headers: { 'a2a-version': '1.0', ...headers } })).status

const statusWithToken = (url: string, token: string) => statusOf(url, { authorization: `Bearer ${token}` })

describe('recipes with an OpenID provider', () => {
  it('byToken accepts tokens with the right audience and scope', async () => {
    const provider = await startOidcServer()
    const url = await open({ auth: byToken(provider.origin, audience) })
    expect(await statusWithToken(url, await requestToken(provider, { resource: audience, scope: 'read' }))).toBe(200)
    expect(await statusWithToken(url, await requestToken(provider, { resource: audience }))).toBe(403)
    expect(
      await statusWithToken(url, await requestToken(provider, { resource: 'https://other.test/', scope: 'read' })),
    ).toBe(401)
    expect(await statusOf(url)).toBe(401)
  })

  it('byOpenId accepts the client of this package', async () => {
    const provider = await startOidcServer()
    const url = await open({ auth: byOpenId(provider.origin, audience) })
    const parameters = { resource: audience }
    const program = clientCredentials({ ...confidentialClient, issuer: provider.origin, scopes: ['read'], parameters })
    expect((await (await connect(url, { auth: [program] })).send('who?')).text).toBe('program: read')
    expect(await statusWithToken(url, await requestToken(provider))).toBe(401)
  })

  it('byIntrospection accepts the client of this package', async () => {
    const provider = await startOidcServer()
    const { clientId, clientSecret } = introspectionClient
    const url = await open({ auth: byIntrospection(provider.origin, clientId, clientSecret) })
    const program = clientCredentials({ ...confidentialClient, tokenUrl: `${provider.origin}/token` })
    expect((await (await connect(url, { auth: [program] })).send('who?')).text).toBe('program: read')
    expect(await statusWithToken(url, 'made-up')).toBe(401)
  })

  it('byTokenOrKeyAndToken accepts a token, or a key with a token', async () => {
    const provider = await startOidcServer()
    const { key, stored } = await issueKey('ci')
    const url = await open({ auth: byTokenOrKeyAndToken(provider.origin, audience, [stored]) })
    const readToken = await requestToken(provider, { resource: audience, scope: 'read' })
    const plainToken = await requestToken(provider, { resource: audience })
    expect(await statusWithToken(url, readToken)).toBe(200)
    expect(await statusWithToken(url, plainToken)).toBeGreaterThanOrEqual(401)
    expect(await statusOf(url, { 'x-api-key': key })).toBe(401)
    expect(await statusOf(url, { 'x-api-key': key, authorization: `Bearer ${plainToken}` })).toBe(200)
  })
})

describe('recipes without a provider', () => {
  it('byKey accepts the key and not its hash', async () => {
    const { key, stored } = await issueKey('ci')
    expect(JSON.stringify(stored)).not.toContain(key)
    const url = await open({ auth: byKey([stored]) })
    expect((await (await connect(url, { auth: [apiKeyCredentials(key)] })).send('who?')).text).toBe('ci: reports:read')
    expect(await statusOf(url, { 'x-api-key': stored.hash })).toBe(401)
  })

  it('withPolicy shares tasks within a tenant, and with an administrator', async () => {
    const issued = await Promise.all(['ann', 'bob', 'eve', 'root'].map(issueKey))
    const changes = [{}, {}, { tenant: 'other' }, { tenant: 'other', scopes: ['reports:read', 'admin'] }]
    const keys = issued.map(({ stored }, at) => ({ ...stored, ...changes[at] }))
    const { server } = await startTestServer(async (turn) => await turn.status('input-required', 'Which report?'), {
      auth: withPolicy(byKey(keys)),
    })
    const as = (at: number) => connect(server.url, { auth: [apiKeyCredentials(issued[at]?.key ?? '')] })
    const [ann, bob, eve, root] = await Promise.all([as(0), as(1), as(2), as(3)])
    const { task } = await ann.send('a report')
    const id = task?.id ?? ''
    expect((await bob.task(id).get()).id).toBe(id)
    await expect(bob.task(id).cancel()).rejects.toMatchObject({ code: 'task-not-found' })
    await expect(eve.task(id).get()).rejects.toMatchObject({ code: 'task-not-found' })
    expect((await root.task(id).cancel()).status.state).toBe('canceled')
  })

  it('byPassword accepts the password', async () => {
    const url = await open({ auth: await byPassword('open sesame') })
    const ada = basicCredentials({ username: 'ada', password: 'open sesame' })
    expect((await (await connect(url, { auth: [ada] })).send('who?')).text).toBe('ada: reports:read')
    expect(await statusOf(url, { authorization: `Basic ${btoa('ada:open')}` })).toBe(401)
  })

  it('bySignedName accepts a valid signature', async () => {
    const url = await open({ auth: bySignedName('shared') })
    const mac = (name: string, secret = 'shared') => createHmac('sha256', secret).update(name).digest('hex')
    expect(await statusOf(url, { authorization: `Signed ada:${mac('ada')}` })).toBe(200)
    expect(await statusOf(url, { authorization: `Signed bob:${mac('ada')}` })).toBe(401)
    expect(await statusOf(url, { authorization: `Signed ada:${mac('ada', 'guessed')}` })).toBe(401)
    expect(await statusWithToken(url, 'x')).toBe(401)
  })

  it('byCertificate accepts certificates of its trust domain', async () => {
    const ca = createCertificate({ commonName: 'Example CA' })
    const { key, cert } = createCertificate({ commonName: 'localhost', dns: ['localhost'], issuer: ca })
    const url = await open(byCertificate(key, cert, ca.cert))
    const statusFor = (uri: string) =>
      new Promise((resolve, reject) => {
        const caller = createCertificate({ commonName: 'caller', uris: [uri], issuer: ca })
        const agent = new Agent({ ca: ca.cert, key: caller.key, cert: caller.cert })
        onTestFinished(() => agent.destroy())
        const { port } = new URL(url)
        request({ host: 'localhost', port, path: '/tasks', agent, headers: { 'a2a-version': '1.0' } })
          .on('response', (response) => resolve(response.resume().statusCode))
          .on('error', reject)
          .end()
      })
    expect(await statusFor('spiffe://example.com/prod/billing')).toBe(200)
    expect(await statusFor('spiffe://example.com/test/billing')).toBe(401)
    expect(await statusFor('spiffe://other.com/prod/billing')).toBe(401)
  })
})
