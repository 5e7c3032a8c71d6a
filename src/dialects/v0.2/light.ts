import type { ClientDialect } from '../dialect.ts'
import { olderWhole } from '../on-older-whole.ts'
import { seldomAsked } from '../plain-reader.ts'
import { readResult } from '../read-params.ts'
import { openCardDecoder } from '../v0.3/card-decoder.ts'
import { readingBy } from '../v0.3/result-decoder.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'

export const v0_2Light: ClientDialect = {
  name: 'v0.2',
  version: '0.2',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  ...readingBy(readResult, openCardDecoder('0.2'), seldomAsked),
  lenient: async () => (await olderWhole()).v0_2Whole,
}
