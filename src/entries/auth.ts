/** Which callers a server accepts: schemes for `auth`, and keys that sign cards and webhooks. */

export type { AuthOptions } from '../core/auth/auth.ts'
export { signCard } from '../core/auth/card-signature/sign-card.ts'
export { type CardVerifier, createCardVerifier } from '../core/auth/card-signature/verify-card.ts'

export { createKeyRing, type KeyRing, newSigningKey, type SigningKey } from '../core/auth/key-ring.ts'
export { hashPassword } from '../core/auth/password.ts'
export type { Scheme } from '../core/auth/scheme.ts'
export { apiKey, hashApiKey, newApiKey, type StoredKey } from '../core/auth/schemes/api-key.ts'
export { basic } from '../core/auth/schemes/basic.ts'
export { custom } from '../core/auth/schemes/custom.ts'
export { mutualTls } from '../core/auth/schemes/mutual-tls.ts'
export { jwt, oauth2, openId } from '../core/auth/schemes/tokens.ts'
export { tokenExchange } from '../core/auth/token-exchange.ts'
export type { TokenExchange } from '../core/protocol/credentials.ts'
export { ownerOf } from '../core/protocol/model.ts'
