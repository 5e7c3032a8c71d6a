import type { ClientDialect, ResponseDecoder } from '../dialect.ts'
import { olderWhole } from '../on-older-whole.ts'
import { cardDecoder, decodeCard } from './card.ts'
import { decodeEvent, pushResults, usualResults } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { methods } from './methods.ts'
import { OpenCard } from './schemas.ts'

export const v0_1Light: ClientDialect = {
  name: 'v0.1',
  version: '0.1',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  decodeResult: usualResults,
  decodeEvent,
  decodeCard: cardDecoder(OpenCard, () => ({})),
  lenient: async () => (await olderWhole()).v0_1Whole,
  errors: () => import('./errors.ts'),
  startsOver: true,
}

export const v0_1Whole: ResponseDecoder = { decodeResult: { ...usualResults, ...pushResults }, decodeEvent, decodeCard }

export const v0_1Client: ClientDialect = { ...v0_1Light, ...v0_1Whole }
