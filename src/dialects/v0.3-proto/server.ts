import { bareTaskPushFormat, type ServerDialect } from '../dialect.ts'
import { encodeError, encodeHttpError } from '../v0.3/errors.ts'
import { encodeCard } from './card.ts'
import { decodeRequest, decodeRequestStrictly } from './decode.ts'
import { encodeEvent, encodeResult, encodeTask } from './encode.ts'
import { methods, operations, restServerBinding } from './methods.ts'

export const v0_3Proto: ServerDialect = {
  name: 'v0.3-proto',
  version: '0.3',
  bindings: ['HTTP+JSON', 'GRPC'],
  methods,
  operations,
  decodeRequest,
  encodeResult,
  encodeEvent,
  isReaderIndependent: true,
  pushFormat: bareTaskPushFormat(encodeTask),
  encodeError,
  encodeHttpError,
  rest: restServerBinding,
  encodeCard,
}

/** Rejects requests that deviate from the specification. */
export const v0_3ProtoStrict: ServerDialect = { ...v0_3Proto, decodeRequest: decodeRequestStrictly }
