import type { ServerDialect } from '../dialect.ts'
import { withWireNames } from '../error-texts.ts'
import { legacyFacts } from '../legacy-codec.ts'
import { encodeCard } from './card.ts'
import { encodeEvent, encodeResult, pushFormat } from './encode.ts'
import { encodeError, encodeHttpError } from './errors.ts'
import { methods, operations } from './methods.ts'
import { decodeRequest, decodeRequestStrictly } from './requests.ts'

const wireNames = {
  'configuration.push': 'pushNotification',
  'configuration.acceptedOutputModes': 'acceptedOutputModes',
  pushConfig: 'pushNotificationConfig',
  'message.contextId': 'sessionId',
  contextId: 'sessionId',
  'header A2A-Extensions': 'header X-A2A-Extensions or in message.extensions',
}

export const v0_1: ServerDialect = {
  name: 'v0.1',
  version: '0.1',
  bindings: ['JSONRPC'],
  methods,
  operations,
  hasNotifications: true,
  namesExtensionsInMessages: true,
  repeatsAnswers: true,
  decodeRequest,
  encodeResult,
  // Artifact indexes are relative to a stream.
  cannotResume: true,
  encodeEvent,
  ...legacyFacts,
  // python-a2a posts to paths of its own.
  morePaths: ['/tasks/send', '/a2a/tasks/send'],
  pushFormat,
  ...withWireNames(wireNames, { encodeError, encodeHttpError }),
  encodeCard,
}

/** Rejects requests that deviate from the specification. */
export const v0_1Strict: ServerDialect = { ...v0_1, decodeRequest: decodeRequestStrictly }
