export { type CardKey, cardSignatures, type SignatureAlgorithm, signCard } from './sign-card.ts'
export { type CardVerifier, type CardVerifierOptions, cardVerifier } from './verify-card.ts'
