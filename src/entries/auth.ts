/** Which callers a server accepts: schemes for `auth`, and keys that sign cards and webhooks. */

export type { AuthOptions } from '../auth/auth.ts'
export { signCard } from '../auth/card-signature/sign-card.ts'
export { type CardVerifier, createCardVerifier } from '../auth/card-signature/verify-card.ts'

export { createKeyRing, type KeyRing, newSigningKey, type SigningKey } from '../auth/key-ring.ts'
export { hashPassword } from '../auth/password.ts'
export type { Scheme } from '../auth/scheme.ts'
export { apiKey, hashApiKey, newApiKey, type StoredKey } from '../auth/schemes/api-key.ts'
export { basic } from '../auth/schemes/basic.ts'
export { custom } from '../auth/schemes/custom.ts'
export { mutualTls } from '../auth/schemes/mutual-tls.ts'
export { jwt, oauth2, openId } from '../auth/schemes/tokens.ts'
export { tokenExchange } from '../auth/token-exchange.ts'
export type { TokenExchange } from '../protocol/credentials.ts'
export { ownerOf } from '../protocol/model.ts'
