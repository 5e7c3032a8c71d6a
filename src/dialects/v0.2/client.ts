import type { ClientDialect, ResponseDecoder } from '../dialect.ts'
import { olderWhole } from '../on-older-whole.ts'
import { seldomAsked } from '../plain-reader.ts'
import { readResult } from '../read.ts'
import { openCardDecoder, securedCardDecoder } from '../v0.3/card.ts'
import { wholeReading } from '../v0.3/client.ts'
import { readingBy } from '../v0.3/decode.ts'
import * as v0_3 from '../v0.3/encode.ts'
import { methods } from './methods.ts'

const decodeCard = securedCardDecoder('0.2')

const encodeRequest: ClientDialect['encodeRequest'] = {
  ...v0_3.encodeRequest,
  // Up to 0.2.5 a configuration must name the modes.
  sendMessage: (request) => v0_3.encodeSend(request, { acceptedOutputModes: [], blocking: true }),
  streamMessage: (request) => v0_3.encodeSend(request, { acceptedOutputModes: [] }),
}

export const v0_2Light: ClientDialect = {
  name: 'v0.2',
  version: '0.2',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  ...readingBy(readResult, openCardDecoder('0.2'), seldomAsked),
  lenient: async () => (await olderWhole()).v0_2Whole,
}

export const v0_2Whole: ResponseDecoder = wholeReading(decodeCard)

export const v0_2Client: ClientDialect = { ...v0_2Light, ...v0_2Whole }
