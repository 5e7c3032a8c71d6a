import { randomUUID } from 'node:crypto'
import { startHttpServer } from '../servers/http-server.ts'

export interface OAuthServer {
  readonly origin: string
  readonly tokenUrl: string
  /** The forms sent to the token endpoint, with the `Authorization` header of each. */
  readonly tokenRequests: readonly (Readonly<Record<string, string>> & { readonly authorization: string })[]
  readonly validTokens: Set<string>
  /** The next responses of the token endpoint. It issues tokens when there are none. */
  readonly responses: { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> }[]
  expiresIn: number | undefined
  hasRefreshTokens: boolean
}

/** Issues tokens to every caller and records the requests, for cases that a real provider does not allow. */
export async function startOAuthServer(): Promise<OAuthServer> {
  const tokenRequests: (Record<string, string> & { authorization: string })[] = []
  const origin = await startHttpServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    const form = Object.fromEntries(new URLSearchParams(Buffer.concat(await request.toArray()).toString()))
    const send = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    if (pathname === '/.well-known/openid-configuration') {
      return send(200, {
        issuer: origin,
        token_endpoint: server.tokenUrl,
        authorization_endpoint: `${origin}/authorize`,
      })
    }
    if (pathname === '/device') {
      const authorization = {
        device_code: 'device',
        user_code: 'ABCD',
        verification_uri: `${origin}/go`,
        interval: 0.05,
      }
      return send(200, authorization)
    }
    tokenRequests.push({ ...form, authorization: request.headers.authorization ?? '' })
    const scripted = server.responses.shift()
    if (scripted) return send(scripted.status, scripted.body, scripted.headers)
    const token = randomUUID()
    server.validTokens.add(token)
    const refresh = server.hasRefreshTokens ? { refresh_token: `refresh-${token}` } : {}
    return send(200, { access_token: token, token_type: 'Bearer', expires_in: server.expiresIn, ...refresh })
  })
  const server: OAuthServer = {
    origin,
    tokenUrl: `${origin}/token`,
    tokenRequests,
    validTokens: new Set(),
    responses: [],
    expiresIn: 3600,
    hasRefreshTokens: false,
  }
  return server
}

/** Whether a request carries one of the issued tokens. */
export function presentsToken(server: OAuthServer, headers: { readonly authorization?: string | undefined }): boolean {
  return server.validTokens.has((headers.authorization ?? '').replace('Bearer ', ''))
}
