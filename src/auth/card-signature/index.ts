export { type KeyRing, type KeyRingOptions, keyRing, newSigningKey, type SigningKey } from '../key-ring.ts'
export { type CardKey, cardSignatures, type SignatureAlgorithm, signCard } from './sign-card.ts'
export { type CardVerifier, type CardVerifierOptions, cardVerifier } from './verify-card.ts'
