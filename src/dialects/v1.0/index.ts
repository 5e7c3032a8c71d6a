import type { Dialect } from '../dialect.ts'
import { decode } from './decode.ts'
import { encode, encodeEvent } from './encode.ts'
import { encodeCard } from './encode-card.ts'
import { encodeError } from './errors.ts'
import { methods, operations } from './methods.ts'

export const v1_0: Dialect = {
  version: '1.0',
  methods,
  operations,
  decode,
  encode,
  encodeEvent,
  encodeError,
  encodeCard,
}
