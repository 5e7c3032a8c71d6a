import { createRemoteJWKSet, jwtVerify } from 'jose'
import { startHttpServer } from '../servers/http-server.ts'
import { audience, type Issuer } from './token-issuer.ts'

export const agentClient = { clientId: 'agent', clientSecret: 'agent secret: + & %' }

export interface TokenExchangeServer {
  readonly tokenUrl: string
  /** The forms sent to the token endpoint. */
  readonly tokenRequests: readonly Readonly<Record<string, string>>[]
  /** The next responses. It exchanges tokens when there are none. */
  readonly responses: { readonly status: number; readonly body: unknown }[]
  expiresIn: number
}

const required = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
}

/** Exchanges tokens of an issuer (RFC 8693) for a known client, as strictly as the standard. */
export async function startTokenExchangeServer(issuer: Issuer): Promise<TokenExchangeServer> {
  const tokenRequests: Record<string, string>[] = []
  const keys = createRemoteJWKSet(new URL(issuer.keysUrl))

  async function answer(authorization: string, form: Record<string, string>) {
    if (!isClient(authorization, form)) return [401, { error: 'invalid_client' }] as const
    for (const [name, value] of Object.entries(required)) {
      if (form[name] !== value) return [400, { error: 'invalid_request', error_description: name }] as const
    }
    const target = form.audience ?? form.resource
    if (target === undefined) return [400, { error: 'invalid_target' }] as const
    try {
      const { payload } = await jwtVerify(form.subject_token ?? '', keys, { issuer: issuer.url, audience })
      const granted = `${payload.scope}`.split(' ')
      const requested = form.scope?.split(' ') ?? granted
      if (!requested.every((scope) => granted.includes(scope))) return [400, { error: 'invalid_scope' }] as const
      const act = { sub: agentClient.clientId }
      const claims = { sub: `${payload.sub}`, aud: target, scope: requested.join(' '), act, jti: crypto.randomUUID() }
      const body = {
        access_token: await issuer.token(claims),
        issued_token_type: required.requested_token_type,
        token_type: 'Bearer',
        expires_in: server.expiresIn,
      }
      return [200, body] as const
    } catch (error) {
      // Some servers repeat the token in their error.
      return [400, { error: 'invalid_grant', error_description: `${error} ${form.subject_token}` }] as const
    }
  }

  const origin = await startHttpServer(async (request, response) => {
    const form = Object.fromEntries(new URLSearchParams(Buffer.concat(await request.toArray()).toString()))
    tokenRequests.push(form)
    const scripted = server.responses.shift()
    const [status, body] = scripted
      ? [scripted.status, scripted.body]
      : await answer(request.headers.authorization ?? '', form)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const server: TokenExchangeServer = { tokenUrl: `${origin}/token`, tokenRequests, responses: [], expiresIn: 3600 }
  return server
}

function isClient(authorization: string, form: Record<string, string>): boolean {
  const { clientId, clientSecret } = agentClient
  if (form.client_id === clientId && form.client_secret === clientSecret) return true
  const [id = '', secret = ''] = atob(authorization.replace('Basic ', '')).split(':')
  return decodeURIComponent(id) === clientId && decodeURIComponent(secret) === clientSecret
}
