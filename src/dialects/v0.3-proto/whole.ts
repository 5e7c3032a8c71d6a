import type { Reading } from '../dialect.ts'
import { cleanSecurity, lenientReading } from '../lenient-card.ts'
import { carried, carrying } from './carry.ts'
import { decodeCard } from './decode-card.ts'
import { readingWith } from './decode-result.ts'
import { seldom } from './decode-seldom.ts'

export const strictReading: Reading = readingWith(decodeCard, seldom)

/** Servers of the Python SDK answer with the card as the JSON of 0.3 has it. */
export const v0_3ProtoWhole: Reading = {
  ...strictReading,
  ...lenientReading(strictReading, (card) => cleanSecurity(card, 'security'), { carrying, carried }),
}
