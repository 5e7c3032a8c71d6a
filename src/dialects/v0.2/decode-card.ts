import { cardDecoder } from '../v0.3/decode-card.ts'

export const decodeCard = cardDecoder('0.2')
