import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { decodeRequest } from './decode.ts'
import { decodeCard } from './decode-card.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'
import { encodeEvent, encodeResult } from './encode.ts'
import { encodeCard } from './encode-card.ts'
import { encodeRequest } from './encode-request.ts'
import { decodeError, decodeHttpError, encodeError, encodeHttpError } from './errors.ts'
import { methods, operations } from './methods.ts'
import { rest } from './rest.ts'
import { restAsking } from './rest-asking.ts'

export const v1_0: ServerDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods,
  operations,
  decodeRequest,
  encodeResult,
  encodeEvent,
  encodeError,
  encodeHttpError,
  rest,
  encodeCard,
}

export const v1_0Client: ClientDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  decodeError,
  decodeHttpError,
  rest: restAsking,
  decodeCard,
}
