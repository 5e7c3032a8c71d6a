import type { ClientDialect } from '../dialect.ts'
import { decodeHttpError } from '../errors.ts'
import { decodeCard } from '../v0.3/card.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { decodeError } from './errors.ts'
import { clientMethods } from './methods.ts'

export const v0_3HouseClient: ClientDialect = {
  name: 'v0.3-house',
  version: '0.3',
  bindings: ['JSONRPC', 'HTTP+JSON'],
  methods: clientMethods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  errors: { decodeError, decodeHttpError },
  decodeCard,
}
