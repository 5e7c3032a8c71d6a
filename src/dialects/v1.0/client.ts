import type { ClientDialect } from '../dialect.ts'
import { decodeCard } from './decode-card.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'
import { v1_0Light } from './light.ts'

/** With all that it takes to read any answer, for whoever does not mind how large it is. */
export const v1_0Client: ClientDialect = { ...v1_0Light, decodeResult, decodeEvent, decodeCard }
