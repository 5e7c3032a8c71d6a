import type { ClientDialect, ResponseDecoder } from '../dialect.ts'
import { olderWhole } from '../on-older-whole.ts'
import { seldomAsked } from '../plain-reader.ts'
import { leniently, readResult } from '../read.ts'
import { decodeCard, openCardDecoder } from './card.ts'
import { listTasksBy, pushConfigs, type ReadKind, readingBy } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { cleanEvent, cleanPage, cleanTask } from './lenient.ts'
import { methods, restAsking } from './methods.ts'

const read = leniently(readResult)

const cleaners = { event: cleanEvent, task: cleanTask, page: cleanPage }

/** Reads what is written by the book; the rest is loaded when it is met. */
export const v0_3Light: ClientDialect = {
  name: 'v0.3',
  version: '0.3',
  bindings: ['JSONRPC', 'HTTP+JSON'],
  methods,
  encodeRequest,
  ...readingBy(readResult, openCardDecoder('0.3'), seldomAsked),
  lenient: async () => (await olderWhole()).v0_3Whole,
  rest: restAsking,
}

/** Also what agents write although they must not. */
const readLeniently: ReadKind = (shape, wire, kind) => read(shape, wire, cleaners[kind])

export const v0_3Whole: ResponseDecoder = wholeReading(decodeCard)

export const v0_3Client: ClientDialect = { ...v0_3Light, ...v0_3Whole }

/** By the reader of cards, in which 0.2 is different. */
export function wholeReading(decode: ResponseDecoder['decodeCard']): ResponseDecoder {
  return readingBy(readLeniently, decode, { listTasks: listTasksBy(readLeniently), ...pushConfigs })
}
