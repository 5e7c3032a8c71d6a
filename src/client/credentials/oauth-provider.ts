import type { Fetch } from '../../http/outbound.ts'
import type { CredentialProvider } from '../../protocol/credentials.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/security.ts'
import { tryToken } from './ask-token.ts'
import { type Endpoints, endpointsOf } from './endpoints.ts'
import { checkClient, discoveryUrl, fitsClient, type OAuthClient } from './oauth-client.ts'
import { createTokenStore, type Token } from './token-store.ts'

export interface FlowStart {
  readonly fetch: Fetch
  readonly endpoints: Endpoints
  /** As they are asked for; undefined if none are. */
  readonly scope: string | undefined
}

export interface OAuthProviderOptions<Client extends OAuthClient> {
  /** For what is said if it is set up wrongly. */
  readonly name: string
  readonly flow: OAuthFlow['type']
  readonly client: Client
  /** Goes through the flow. */
  readonly obtain: (start: FlowStart, client: Client) => Promise<Token>
}

/** Tokens by one flow of OAuth 2, kept until they end or are refused, and refreshed where that is possible. */
export function oauthProvider<Client extends OAuthClient>(options: OAuthProviderOptions<Client>): CredentialProvider {
  const { name, flow, client, obtain } = options
  checkClient(name, client)
  const store = createTokenStore()
  const assumed = assumedFor(flow, client)
  return {
    fits: (scheme) => fitsClient(scheme, flow, client),
    async credentialsFor({ scheme, scopes, fetch, refused }) {
      const all = [...new Set([...scopes, ...(client.scopes ?? [])])]
      const scope = all.length === 0 ? undefined : all.join(' ')
      const last = refused?.headers?.authorization?.replace(/^Bearer /, '')
      const { accessToken } = await store.get(`${placeOf(scheme)} ${scope ?? ''}`, last, async (known) => {
        const start = { fetch, scope, endpoints: await endpointsOf(scheme, client, fetch) }
        return (
          (known?.refreshToken && (await refreshed(known.refreshToken, start, client))) || (await obtain(start, client))
        )
      })
      return { headers: { authorization: `Bearer ${accessToken}` } }
    },
    ...(assumed && { assumed }),
  }
}

/** Undefined if the flow has to be gone through again. */
async function refreshed(
  token: string,
  { fetch, endpoints }: FlowStart,
  client: OAuthClient,
): Promise<Token | undefined> {
  const form = { grant_type: 'refresh_token', refresh_token: token }
  const answer = await tryToken(fetch, endpoints.refreshUrl, client, form, ['invalid_grant', 'invalid_token'])
  // Where it is not exchanged for a new one, it still holds (RFC 6749 §6).
  return typeof answer === 'string' ? undefined : { refreshToken: token, ...answer }
}

function placeOf(scheme: SecurityScheme): string {
  if (scheme.type === 'openid') return scheme.url
  return scheme.type === 'oauth2' && 'tokenUrl' in scheme.flow ? scheme.flow.tokenUrl : ''
}

/** Without a card, only what was pinned tells where to go. */
function assumedFor(flow: OAuthFlow['type'], { issuer, tokenUrl }: OAuthClient): SecurityScheme | undefined {
  if (issuer !== undefined) return { type: 'openid', url: discoveryUrl(issuer) }
  if (tokenUrl === undefined || flow !== 'client-credentials') return undefined
  return { type: 'oauth2', flow: { type: flow, tokenUrl, scopes: {} } }
}
