import type { CredentialProvider } from '../../protocol/credentials.ts'
import { askToken } from './ask-token.ts'
import type { OAuthClient } from './oauth-client.ts'
import { oauthProvider } from './oauth-provider.ts'

/** Tokens for a program of its own (RFC 6749 §4.4), by `oauth2` and `openid` schemes. */
export function clientCredentials(client: OAuthClient): CredentialProvider {
  return oauthProvider({
    name: 'clientCredentials',
    flow: 'client-credentials',
    client,
    obtain: ({ fetch, endpoints, scope }) =>
      askToken(fetch, endpoints.tokenUrl, client, { grant_type: 'client_credentials', ...(scope && { scope }) }),
  })
}
