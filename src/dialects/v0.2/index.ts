import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { decodeRequest, decodeRequestStrictly } from '../v0.3/decode.ts'
import { decodeEvent, decodeResult } from '../v0.3/decode-result.ts'
import { encodeEvent, encodeResult } from '../v0.3/encode.ts'
import { decodeCard } from './decode-card.ts'
import { encodeCard } from './encode-card.ts'
import { encodeRequest } from './encode-request.ts'
import { decodeError, decodeHttpError, encodeError, encodeHttpError } from './errors.ts'
import { methods, operations } from './methods.ts'
import { recognises } from './recognise.ts'

/** A2A 0.2.0 to 0.2.6: the objects of 0.3, with other methods, cards and errors around them. */
export const v0_2: ServerDialect = {
  name: 'v0.2',
  version: '0.2',
  bindings: ['JSONRPC'],
  methods,
  operations,
  recognises,
  // Up to 0.2.1.
  allowsMissingId: true,
  decodeRequest,
  encodeResult: { ...encodeResult, getExtendedCard: encodeCard },
  encodeEvent,
  encodeError,
  encodeHttpError,
  encodeCard,
}

/** Refuses what is not quite the protocol. */
export const v0_2Strict: ServerDialect = { ...v0_2, allowsMissingId: false, decodeRequest: decodeRequestStrictly }

export const v0_2Client: ClientDialect = {
  name: 'v0.2',
  version: '0.2',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  decodeResult: { ...decodeResult, getExtendedCard: decodeCard },
  decodeEvent,
  decodeError,
  decodeHttpError,
  decodeCard,
}
