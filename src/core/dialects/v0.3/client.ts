import type { ClientDialect } from '../dialect.ts'
import { decodeCard } from './card.ts'
import { createResponseDecoder } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { methods, restClientBinding } from './methods.ts'

export const v0_3Client: ClientDialect = {
  name: 'v0.3',
  version: '0.3',
  bindings: ['JSONRPC', 'HTTP+JSON'],
  methods,
  encodeRequest,
  ...createResponseDecoder(decodeCard),
  rest: restClientBinding,
}
