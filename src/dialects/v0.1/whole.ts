import type { Reading } from '../dialect.ts'
import { decodeCard } from './decode-card.ts'
import { pushResults } from './decode-push.ts'
import { decodeEvent, usualResults } from './decode-result.ts'

export const v0_1Whole: Reading = { decodeResult: { ...usualResults, ...pushResults }, decodeEvent, decodeCard }
