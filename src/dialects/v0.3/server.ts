import { bareTaskPushFormat, type ServerDialect } from '../dialect.ts'
import { encodeCard } from './card.ts'
import { decodeRequest, decodeRequestStrictly } from './decode.ts'
import { encodeEvent, encodeResult, encodeTask } from './encode.ts'
import { encodeError, encodeHttpError } from './errors.ts'
import { methods, operations, restServerBinding } from './methods.ts'

export const v0_3: ServerDialect = {
  name: 'v0.3',
  version: '0.3',
  bindings: ['JSONRPC', 'HTTP+JSON'],
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
export const v0_3Strict: ServerDialect = { ...v0_3, decodeRequest: decodeRequestStrictly }
