/** Credentials that a client sends: API keys, tokens and the flows of OAuth 2. */

export type { OAuthClient, Secret, Token, TokenStorage } from '../client/credentials/oauth-client.ts'
export {
  type AuthorizationCodeOptions,
  authorizationCode,
  clientCredentials,
  type DeviceCodeOptions,
  deviceCode,
} from '../client/credentials/oauth-flows.ts'
export {
  type ApiKeyCredentialsOptions,
  apiKeyCredentials,
  type BasicCredentialsOptions,
  basicCredentials,
  bearer,
  certificateCredentials,
} from '../client/credentials/static-credentials.ts'
export type { CredentialProvider } from '../protocol/credentials.ts'
