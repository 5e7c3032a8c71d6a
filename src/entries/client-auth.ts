/** Credentials that a client sends: API keys, tokens and the flows of OAuth 2. */

export type { OAuthClient, Token, TokenStorage } from '../core/client/credentials/oauth-client.ts'
export { authorizationCode, clientCredentials, deviceCode } from '../core/client/credentials/oauth-flows.ts'
export {
  apiKeyCredentials,
  basicCredentials,
  bearer,
  certificateCredentials,
} from '../core/client/credentials/static-credentials.ts'
export type { CredentialProvider } from '../core/protocol/credentials.ts'
