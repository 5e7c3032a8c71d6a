import { bareTaskPushFormat, type ServerDialect } from '../dialect.ts'
import { withWireNames } from '../error-texts.ts'
import { legacyFacts } from '../legacy-codec.ts'
import { encodeCard } from './card.ts'
import { encodeEvent, encodeResult, encodeTask } from './encode.ts'
import { adaptError, encodeError, encodeHttpError } from './errors.ts'
import { methods, operations, restServerBinding } from './methods.ts'
import { decodeRequest, decodeRequestStrictly } from './requests.ts'

/** The names of 0.2 and 0.3 in JSON. */
export const wireNames = {
  'configuration.push': 'configuration.pushNotificationConfig',
  pushConfig: 'pushNotificationConfig',
  'header A2A-Extensions': 'header X-A2A-Extensions or in message.extensions',
}

export const v0_3: ServerDialect = {
  name: 'v0.3',
  version: '0.3',
  bindings: ['JSONRPC', 'HTTP+JSON'],
  methods,
  operations,
  namesExtensionsInMessages: true,
  decodeRequest,
  encodeResult,
  encodeEvent,
  isReaderIndependent: true,
  ...legacyFacts,
  pushFormat: bareTaskPushFormat(encodeTask),
  ...withWireNames(wireNames, { encodeError, encodeHttpError }),
  adaptError,
  rest: restServerBinding,
  encodeCard,
}

/** Rejects requests that deviate from the specification. */
export const v0_3Strict: ServerDialect = { ...v0_3, decodeRequest: decodeRequestStrictly }
