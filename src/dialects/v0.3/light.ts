import type { ClientDialect } from '../dialect.ts'
import { olderWhole } from '../on-older-whole.ts'
import { seldomAsked } from '../plain-reader.ts'
import { readResult } from '../read-params.ts'
import { openCardDecoder } from './card-decoder.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'
import { restAsking } from './rest-asking.ts'
import { readingBy } from './result-decoder.ts'

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
