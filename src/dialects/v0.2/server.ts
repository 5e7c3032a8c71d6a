import { bareTaskPushFormat, type ServerDialect } from '../dialect.ts'
import { cardEncoder } from '../v0.3/card.ts'
import { decodeRequest, decodeRequestStrictly } from '../v0.3/decode.ts'
import { encodeEvent, encodeResult, encodeTask } from '../v0.3/encode.ts'
import { type ErrorKinds, errorEncoder, httpErrorEncoder, kinds, unsupported } from '../v0.3/errors.ts'
import { methods, operations, recognises } from './methods.ts'

/** Readers of 0.2 refuse a card with a scheme of a type that came later. */
const encodeCard = cardEncoder({ version: '0.2', protocolVersion: '0.2.6', lacks: ['mutual-tls'] })

const olderKinds: ErrorKinds = { ...kinds, 'extended-card-not-configured': unsupported }

const encodeError = errorEncoder(olderKinds)

const encodeHttpError = httpErrorEncoder(olderKinds)

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
  isReaderIndependent: true,
  pushFormat: bareTaskPushFormat(encodeTask),
  encodeError,
  encodeHttpError,
  encodeCard,
}

/** Refuses what is not quite the protocol. */
export const v0_2Strict: ServerDialect = { ...v0_2, allowsMissingId: false, decodeRequest: decodeRequestStrictly }
