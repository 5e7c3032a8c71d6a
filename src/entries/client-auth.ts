/** Credentials that a client sends: API keys, tokens and the flows of OAuth 2. */

export type { OAuthClient, Token, TokenStorage } from '../client/credentials/oauth-client.ts'
export { authorizationCode, clientCredentials, deviceCode } from '../client/credentials/oauth-flows.ts'
export {
  apiKeyCredentials,
  basicCredentials,
  bearer,
  certificateCredentials,
} from '../client/credentials/static-credentials.ts'
export type { CredentialProvider } from '../protocol/credentials.ts'
