import type { Reading } from '../dialect.ts'
import { wholeReading } from '../v0.3/whole.ts'
import { decodeCard } from './decode-card.ts'

export const v0_2Whole: Reading = wholeReading(decodeCard)
