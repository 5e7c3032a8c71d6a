/** Which callers a server accepts: schemes for `auth`, and keys that sign cards and webhooks. */

export type { AuthOptions } from '../auth/auth.ts'
export { cardSignatures, type SignatureAlgorithm, signCard } from '../auth/card-signature/sign-card.ts'
export { type CardVerifier, type CardVerifierOptions, createCardVerifier } from '../auth/card-signature/verify-card.ts'

export { createKeyRing, type KeyRing, type KeyRingOptions, newSigningKey, type SigningKey } from '../auth/key-ring.ts'
export { hashPassword } from '../auth/password.ts'
export type { Scheme } from '../auth/scheme.ts'
export { type ApiKeyOptions, apiKey, hashApiKey, newApiKey, type StoredKey } from '../auth/schemes/api-key.ts'
export { type BasicOptions, basic } from '../auth/schemes/basic.ts'
export { type CustomOptions, custom } from '../auth/schemes/custom.ts'
export { type MutualTlsOptions, mutualTls } from '../auth/schemes/mutual-tls.ts'
export { type JwtOptions, jwt, type OAuth2Options, type OpenIdOptions, oauth2, openId } from '../auth/schemes/tokens.ts'
export { type TokenExchangeOptions, tokenExchange } from '../auth/token-exchange.ts'
export type { TokenExchange } from '../protocol/credentials.ts'
export { ownerOf } from '../protocol/model.ts'
