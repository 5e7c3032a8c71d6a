import type { Reading } from '../dialect.ts'
import { leniently } from '../leniently.ts'
import { readResult } from '../read-params.ts'
import { decodeCard } from './decode-card.ts'
import { listTasksBy, pushConfigs } from './decode-seldom.ts'
import { cleanEvent, cleanPage, cleanTask } from './lenient.ts'
import { type ReadKind, readingBy } from './result-decoder.ts'

const read = leniently(readResult)
const cleaners = { event: cleanEvent, task: cleanTask, page: cleanPage }

/** Also what agents write although they must not. */
const readLeniently: ReadKind = (shape, wire, kind) => read(shape, wire, cleaners[kind])

/** By the reader of cards, in which 0.2 is different. */
export function wholeReading(decode: Reading['decodeCard']): Reading {
  return readingBy(readLeniently, decode, { listTasks: listTasksBy(readLeniently), ...pushConfigs })
}

export const v0_3Whole: Reading = wholeReading(decodeCard)
