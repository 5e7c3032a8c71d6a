import { securedCardDecoder } from '../v0.3/decode-card.ts'

export const decodeCard = securedCardDecoder('0.2')
