import type { Reading } from '../dialect.ts'
import { cleanSecurity, lenientReading } from '../lenient-card.ts'
import { carried, carrying } from './carry.ts'
import { decodeCard } from './decode-card.ts'
import { readingWith } from './decode-result.ts'

/** Servers of the Python SDK answer with the card as the JSON of 0.3 has it. */
const lenient = lenientReading(readingWith(decodeCard), (card) => cleanSecurity(card, 'security'), {
  carrying,
  carried,
})

export const v0_3ProtoWhole: Reading = readingWith(lenient.decodeCard)
