/** What checks signatures, as one chunk with what it needs. */
export { verifyHttpSignature } from './verify-http-signature.ts'
export { verifyToken } from './verify-jwt.ts'
