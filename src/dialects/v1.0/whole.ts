import type { Reading } from '../dialect.ts'
import { lenientReading } from '../lenient-card.ts'
import { carried, carrying } from './carry.ts'
import { decodeCard } from './decode-card.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'
import { cleanCard } from './lenient.ts'

/** All that agents of 1.0 may write, and cards as they are. */
export const wholeReading: Reading = {
  ...lenientReading({ decodeCard, decodeResult }, cleanCard, { carrying, carried }),
  decodeEvent,
}
