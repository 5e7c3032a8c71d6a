import type { Reading } from '../dialect.ts'
import { leniently } from '../leniently.ts'
import { readResult } from '../read-params.ts'
import { decodeCard } from './decode-card.ts'
import { cleanEvent, cleanPage, cleanTask } from './lenient.ts'
import { type ReadKind, readingBy } from './result-decoder.ts'

const read = leniently(readResult)
const cleaners = { event: cleanEvent, task: cleanTask, page: cleanPage }

/** Also what agents write although they must not. */
export const readLeniently: ReadKind = (shape, wire, kind) => read(shape, wire, cleaners[kind])

export const v0_3Whole: Reading = readingBy(readLeniently, decodeCard)
