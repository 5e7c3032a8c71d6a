import { randomUUID } from 'node:crypto'
import { startHttpServer } from '../servers/http-server.ts'

export interface OAuthServer {
  readonly origin: string
  readonly tokenUrl: string
  /** The forms that were sent to the token endpoint, with the header beside them. */
  readonly asked: readonly (Readonly<Record<string, string>> & { readonly authorization: string })[]
  readonly valid: Set<string>
  /** The next answers of the token endpoint, instead of a token. */
  readonly answers: { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> }[]
  expiresIn: number | undefined
  hasRefreshTokens: boolean
}

/** Gives out tokens to whoever asks, and remembers who did: for what real providers do not let one provoke. */
export async function startOAuthServer(): Promise<OAuthServer> {
  const asked: (Record<string, string> & { authorization: string })[] = []
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
      const about = { device_code: 'device', user_code: 'ABCD', verification_uri: `${origin}/go`, interval: 0.05 }
      return send(200, about)
    }
    asked.push({ ...form, authorization: request.headers.authorization ?? '' })
    const answer = server.answers.shift()
    if (answer) return send(answer.status, answer.body, answer.headers)
    const token = randomUUID()
    server.valid.add(token)
    const refresh = server.hasRefreshTokens ? { refresh_token: `refresh-${token}` } : {}
    return send(200, { access_token: token, token_type: 'Bearer', expires_in: server.expiresIn, ...refresh })
  })
  const server: OAuthServer = {
    origin,
    tokenUrl: `${origin}/token`,
    asked,
    valid: new Set(),
    answers: [],
    expiresIn: 3600,
    hasRefreshTokens: false,
  }
  return server
}

/** Whether a request shows one of its tokens. */
export function presentsToken(server: OAuthServer, headers: { readonly authorization?: string | undefined }): boolean {
  return server.valid.has((headers.authorization ?? '').replace('Bearer ', ''))
}
