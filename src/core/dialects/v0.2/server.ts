import type { JsonObject } from '../../base/json.ts'
import type { AgentCard } from '../../protocol/card.ts'
import type { A2AError } from '../../protocol/errors.ts'
import { bareTaskPushFormat, type ServerDialect } from '../dialect.ts'
import { withWireNames } from '../error-texts.ts'
import { legacyFacts } from '../legacy-codec.ts'
import { encodeVersionedCard } from '../v0.3/card.ts'
import { encodeEvent, encodeResult, encodeTask } from '../v0.3/encode.ts'
import { type ErrorKind, encodeErrorAs, encodeHttpErrorAs, kinds, unsupported } from '../v0.3/errors.ts'
import { decodeRequest, decodeRequestStrictly } from '../v0.3/requests.ts'
import { wireNames } from '../v0.3/server.ts'
import { extendedCardPath, methods, operations, recognises } from './methods.ts'

/** A2A 0.2.0 to 0.2.6: the objects of 0.3, with other methods, cards and errors around them. */
export const v0_2: ServerDialect = {
  name: 'v0.2',
  version: '0.2',
  bindings: ['JSONRPC'],
  methods,
  operations,
  recognises,
  // Up to 0.2.1.
  hasNotifications: true,
  namesExtensionsInMessages: true,
  decodeRequest,
  encodeResult: { ...encodeResult, getExtendedCard: encodeCard },
  encodeEvent,
  isReaderIndependent: true,
  ...legacyFacts,
  extendedCardPath,
  pushFormat: bareTaskPushFormat(encodeTask),
  ...withWireNames(wireNames, {
    encodeError: (error) => encodeErrorAs(kindOf(error), error),
    encodeHttpError: (error) => encodeHttpErrorAs(kindOf(error), error),
  }),
  encodeCard,
}

/** Rejects requests that deviate from the specification. */
export const v0_2Strict: ServerDialect = { ...v0_2, hasNotifications: false, decodeRequest: decodeRequestStrictly }

/** 0.2 clients reject cards with schemes of later types, and know nothing else that came with 0.3. */
function encodeCard(card: AgentCard): JsonObject {
  return encodeVersionedCard(card, { version: '0.2', protocolVersion: '0.2.6', isBefore0_3: true })
}

/** 0.2 has no error for a missing extended card. */
function kindOf({ code }: A2AError): ErrorKind {
  return code === 'extended-card-not-configured' ? unsupported : kinds[code]
}
