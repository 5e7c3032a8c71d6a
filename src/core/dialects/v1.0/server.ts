import type { ServerDialect } from '../dialect.ts'
import { withWireNames } from '../error-texts.ts'
import { encodeCard } from './card.ts'
import { encodeEvent, encodeResult, pushFormat } from './encode.ts'
import { encodeError, encodeHttpError, encodeV1_0_0HttpError } from './errors.ts'
import { grpc, methods, operations, restServerBinding } from './methods.ts'
import { decodeRequest } from './requests.ts'

/** The names of 1.0 in errors. */
const wireNames = { 'configuration.push': 'configuration.taskPushNotificationConfig', pushConfig: '' }

export const v1_0: ServerDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods,
  grpc,
  operations,
  decodeRequest,
  encodeResult,
  encodeEvent,
  isReaderIndependent: true,
  hasTenants: true,
  extensionsHeader: 'a2a-extensions',
  pushFormat,
  ...withWireNames(wireNames, { encodeError, encodeHttpError }),
  rest: restServerBinding,
  encodeCard,
}

/** As `v1_0`, with the HTTP and gRPC statuses of 1.0.0, some of which 1.0.1 changed. */
export const v1_0_0: ServerDialect = {
  ...v1_0,
  ...withWireNames(wireNames, { encodeError, encodeHttpError: encodeV1_0_0HttpError }),
}
