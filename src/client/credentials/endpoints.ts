import type { Fetch } from '../../http/outbound.ts'
import type { SecurityScheme } from '../../protocol/security.ts'
import { askJson } from './ask-json.ts'
import { bare, discoveryUrl, type OAuthClient, requireSecure } from './oauth-client.ts'
import { noCredentials } from './trouble.ts'

/** Where the parts of a flow are. */
export interface Endpoints {
  readonly tokenUrl: string
  readonly refreshUrl: string
  readonly authorizationUrl?: string
  readonly deviceAuthorizationUrl?: string
  readonly issuer?: string
}

/** By the card, or by OpenID Connect discovery; whatever the client has pinned must be the same. */
export async function endpointsOf(scheme: SecurityScheme, client: OAuthClient, fetch: Fetch): Promise<Endpoints> {
  const found = scheme.type === 'openid' ? await discover(scheme.url, fetch) : ofFlow(scheme)
  requireSecure(found.tokenUrl)
  const isForeign = client.tokenUrl !== undefined && client.tokenUrl !== found.tokenUrl
  if (isForeign || (client.issuer !== undefined && found.issuer !== undefined && client.issuer !== found.issuer)) {
    const problem = `The card leads to ${bare(found.tokenUrl)} for tokens, which is not whom the credentials are for.`
    throw noCredentials('not-trusted', problem, 'Compare tokenUrl and issuer with what the agent tells.')
  }
  return found
}

function ofFlow(scheme: SecurityScheme): Endpoints {
  const flow = scheme.type === 'oauth2' ? scheme.flow : undefined
  if (!flow || !('tokenUrl' in flow)) throw incomplete('the card')
  const { tokenUrl, refreshUrl = tokenUrl } = flow
  // A secret goes with it as well, but nobody has pinned it.
  const isSamePlace = URL.canParse(refreshUrl) && new URL(refreshUrl).origin === new URL(tokenUrl).origin
  return {
    tokenUrl,
    refreshUrl: isSamePlace ? refreshUrl : tokenUrl,
    ...('authorizationUrl' in flow && { authorizationUrl: flow.authorizationUrl }),
    ...('deviceAuthorizationUrl' in flow && { deviceAuthorizationUrl: flow.deviceAuthorizationUrl }),
  }
}

/** OpenID Connect Discovery 1.0 §4. */
async function discover(url: string, fetch: Fetch): Promise<Endpoints> {
  const { body } = await askJson(fetch, requireSecure(url), { headers: { accept: 'application/json' } })
  const { issuer, token_endpoint, authorization_endpoint, device_authorization_endpoint } = body
  if (typeof issuer !== 'string' || typeof token_endpoint !== 'string') throw incomplete(bare(url))
  // Otherwise one issuer could speak for another (§4.3).
  if (discoveryUrl(issuer) !== url) {
    const problem = `${bare(url)} speaks for ${bare(issuer)}, which is not where it is.`
    throw noCredentials('not-trusted', problem, 'The url of the scheme must be that of its issuer.')
  }
  return {
    issuer,
    tokenUrl: token_endpoint,
    refreshUrl: token_endpoint,
    ...(typeof authorization_endpoint === 'string' && { authorizationUrl: authorization_endpoint }),
    ...(typeof device_authorization_endpoint === 'string' && { deviceAuthorizationUrl: device_authorization_endpoint }),
  }
}

export function incomplete(where: string) {
  const problem = `There is no address for this flow of OAuth 2 at ${where}.`
  return noCredentials('unfit', problem, 'Use credentials for another flow, or another scheme of the card.')
}
