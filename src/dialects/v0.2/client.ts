import type { ClientDialect } from '../dialect.ts'
import { decodeEvent, decodeResult } from '../v0.3/decode-result.ts'
import { decodeCard } from './decode-card.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'

export const v0_2Client: ClientDialect = {
  name: 'v0.2',
  version: '0.2',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  decodeResult: { ...decodeResult, getExtendedCard: decodeCard },
  decodeEvent,
  decodeCard,
}
