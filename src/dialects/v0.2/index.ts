import type { ServerDialect } from '../dialect.ts'
import { bareTaskForm } from '../push-form.ts'
import { decodeRequest, decodeRequestStrictly } from '../v0.3/decode.ts'
import { encodeEvent, encodeResult } from '../v0.3/encode.ts'
import { encodeTask } from '../v0.3/encode-objects.ts'
import { encodeCard } from './encode-card.ts'
import { encodeError, encodeHttpError } from './errors.ts'
import { methods, operations } from './methods.ts'
import { recognises } from './recognise.ts'

export { v0_2Client } from './client.ts'

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
  tellsAllAlike: true,
  pushForm: bareTaskForm(encodeTask),
  encodeError,
  encodeHttpError,
  encodeCard,
}

/** Refuses what is not quite the protocol. */
export const v0_2Strict: ServerDialect = { ...v0_2, allowsMissingId: false, decodeRequest: decodeRequestStrictly }
