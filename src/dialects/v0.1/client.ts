import type { ClientDialect } from '../dialect.ts'
import { decodeCard } from './decode-card.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'

export const v0_1Client: ClientDialect = {
  name: 'v0.1',
  version: '0.1',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  errors: () => import('./decode-error.ts'),
  startsOver: true,
  decodeCard,
}
