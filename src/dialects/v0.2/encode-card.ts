import { cardEncoder } from '../v0.3/encode-card.ts'

/** Readers of 0.2 refuse a card with a scheme of a type that came later. */
export const encodeCard = cardEncoder({ version: '0.2', protocolVersion: '0.2.6', lacks: ['mutual-tls'] })
