import type { ServerDialect } from '../dialect.ts'
import { encodeCard } from './card.ts'
import { decodeRequest } from './decode.ts'
import { encodeEvent, encodeResult, pushFormat } from './encode.ts'
import { encodeError, encodeHttpError } from './errors.ts'
import { methods, operations, restServerBinding } from './methods.ts'

export const v1_0: ServerDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods,
  operations,
  decodeRequest,
  encodeResult,
  encodeEvent,
  isReaderIndependent: true,
  pushFormat,
  encodeError,
  encodeHttpError,
  rest: restServerBinding,
  encodeCard,
}
