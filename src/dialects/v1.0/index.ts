import type { ServerDialect } from '../dialect.ts'
import { decodeRequest } from './decode.ts'
import { encodeEvent, encodeResult } from './encode.ts'
import { encodeCard } from './encode-card.ts'
import { encodeError, encodeHttpError } from './errors.ts'
import { methods, operations } from './methods.ts'

export const v1_0: ServerDialect = {
  name: 'v1.0',
  version: '1.0',
  methods,
  operations,
  decodeRequest,
  encodeResult,
  encodeEvent,
  encodeError,
  encodeHttpError,
  encodeCard,
}
