import type { Reading } from '../dialect.ts'
import { decodeCard } from './decode-card.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'

export const v0_1Whole: Reading = { decodeResult, decodeEvent, decodeCard }
