import { bareTaskPushFormat, type ServerDialect } from '../dialect.ts'
import { withWireNames } from '../error-texts.ts'
import { encodeTask as encodeTaskWithKind } from '../v0.3/encode.ts'
import { encodeError, encodeHttpError } from '../v0.3/errors.ts'
import { encodeCard } from './card.ts'
import { decodeRequest, decodeRequestStrictly } from './decode.ts'
import { encodeEvent, encodeResult, encodeTask } from './encode.ts'
import { operations, restServerBinding, serverMethods } from './methods.ts'

const wireNames = {
  'configuration.push': 'configuration.pushNotification',
  pushConfig: 'config.pushNotificationConfig',
  'message.parts': 'message.content',
  'header A2A-Extensions': 'header X-A2A-Extensions or in message.extensions',
}

export const v0_3Proto: ServerDialect = {
  name: 'v0.3-proto',
  version: '0.3',
  bindings: ['HTTP+JSON', 'GRPC'],
  methods: serverMethods,
  operations,
  namesExtensionsInMessages: true,
  decodeRequest,
  encodeResult,
  encodeEvent,
  isReaderIndependent: true,
  // SDKs parse the body of a webhook as the JSON of 0.3, whatever the binding of its registration.
  pushFormat: bareTaskPushFormat(encodeTaskWithKind),
  ...withWireNames(wireNames, { encodeError, encodeHttpError }),
  rest: restServerBinding,
  encodeCard,
}

/** Sends ProtoJSON to webhooks too, as the rest of the dialect does. */
export const protoJsonPushFormat = bareTaskPushFormat(encodeTask)

/** Rejects requests that deviate from the specification. */
export const v0_3ProtoStrict: ServerDialect = { ...v0_3Proto, decodeRequest: decodeRequestStrictly }
