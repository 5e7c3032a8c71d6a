import type { IncomingMessage, ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js'
import { startHttpServer } from '../servers/http-server.ts'

export interface OidcServer {
  readonly origin: string
  readonly discovery: string
  /** Whether a request carries one of the issued tokens. */
  presentsToken(headers: { readonly authorization?: string | undefined }): boolean
  /** Revokes all tokens issued so far. */
  revokeAll(): void
}

export const confidentialClient = { clientId: 'program', clientSecret: 'program-secret' }
/** An agent that uses token introspection. */
export const introspectionClient = { clientId: 'agent', clientSecret: 'agent-secret' }
export const browserClient = { clientId: 'browser', redirectUri: 'http://127.0.0.1:1/callback' }
export const deviceClient = { clientId: 'device' }

/** A real OpenID Connect provider on loopback, where the user Alice consents to everything. */
export async function startOidcServer(): Promise<OidcServer> {
  let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const origin = await startHttpServer((request, response) => answer(request, response))
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwks = { keys: [{ ...(await exportJWK(privateKey)), kid: 'oidc', alg: 'RS256', use: 'sig' }] }
  // Explicit options, because the provider warns about its defaults.
  const provider = new Provider(origin, { ...configuration, jwks, adapter: createMemoryAdapter(0) })
  const valid = new Set<string>()
  for (const kind of ['access_token', 'client_credentials'])
    provider.on(`${kind}.saved`, ({ jti }) => void valid.add(jti))
  const handle = provider.callback()

  async function consentTo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params } = await provider.interactionDetails(request, response)
    const grant = new provider.Grant({ accountId: 'alice', clientId: params.client_id ?? '' })
    grant.addOIDCScope(params.scope ?? '')
    const consent = { grantId: await grant.save() }
    await provider.interactionFinished(request, response, { login: { accountId: 'alice' }, consent })
  }

  answer = (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return handle(request, response)
    consentTo(request, response).catch((error) => response.writeHead(500).end(`${error}`))
  }
  return {
    origin,
    discovery: `${origin}/.well-known/openid-configuration`,
    presentsToken: ({ authorization = '' }) => valid.has(authorization.replace('Bearer ', '')),
    revokeAll: () => valid.clear(),
  }
}

const code = ['authorization_code', 'refresh_token']

interface Page {
  body: string
}

function showForm(page: Page, form: string): void {
  page.body = form
}

function showSuccess(page: Page): void {
  page.body = 'Sign-in Success'
}

const configuration = {
  clients: [
    {
      client_id: confidentialClient.clientId,
      client_secret: confidentialClient.clientSecret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: introspectionClient.clientId,
      client_secret: introspectionClient.clientSecret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: browserClient.clientId,
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      grant_types: code,
      redirect_uris: [browserClient.redirectUri],
      response_types: ['code'],
    },
    {
      client_id: deviceClient.clientId,
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  scopes: ['openid', 'offline_access', 'read'],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true, userCodeConfirmSource: showForm, successSource: showSuccess },
    introspection: { enabled: true, allowedPolicy: () => true },
    // A client that names a resource gets a JWT (RFC 8707, RFC 9068); others get an opaque token.
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (_: unknown, resource: string) => ({
        scope: 'read',
        audience: resource,
        accessTokenFormat: 'jwt',
      }),
    },
  },
  interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
  findAccount: (_: unknown, accountId: string) => ({ accountId, claims: async () => ({ sub: accountId }) }),
  cookies: { keys: ['for tests only'] },
  // Alice has consented to it, as RFC 6749 requires for offline access.
  issueRefreshToken: () => true,
  ttl: {
    AccessToken: 60,
    IdToken: 60,
    RefreshToken: 600,
    ClientCredentials: 60,
    DeviceCode: 60,
    Grant: 600,
    Interaction: 60,
    Session: 60,
  },
}

/** Follows redirects like a browser, with cookies, and submits every form, until it reaches `end` or a final page. */
export async function browse(start: string, end: string): Promise<string> {
  const cookies = new Map<string, string>()
  let url = start
  let body: URLSearchParams | undefined
  for (let steps = 0; steps < 20; steps++) {
    if (url.startsWith(end)) return url
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const init = { headers: { cookie, accept: 'text/html' }, redirect: 'manual' as const }
    const response = await fetch(url, body ? { ...init, method: 'POST', body } : init)
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const page = await response.text()
    const location = response.headers.get('location')
    body = location === null ? formIn(page) : undefined
    const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1]
    if (location === null && !body) return page
    url = new URL(location ?? action ?? url, url).href
  }
  throw new Error('the browser is redirected in a loop')
}

function formIn(page: string): URLSearchParams | undefined {
  if (!page.includes('<form')) return undefined
  const fields = Array.from(page.matchAll(/<input[^>]*>/g), ([input]) => {
    const attribute = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(input)?.[1] ?? ''
    return [attribute('name'), attribute('value')]
  })
  return new URLSearchParams(fields.filter(([name]) => name !== ''))
}
