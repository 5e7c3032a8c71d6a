import type { Reading } from '../dialect.ts'
import { readingBy } from '../v0.3/result-decoder.ts'
import { readLeniently } from '../v0.3/whole.ts'
import { decodeCard } from './decode-card.ts'

export const v0_2Whole: Reading = readingBy(readLeniently, decodeCard)
