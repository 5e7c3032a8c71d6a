import type { ClientDialect } from '../dialect.ts'
import { cardDecoder } from '../v0.3/card.ts'
import { responseDecoder } from '../v0.3/decode.ts'
import * as v0_3 from '../v0.3/encode.ts'
import { methods } from './methods.ts'

const encodeRequest: ClientDialect['encodeRequest'] = {
  ...v0_3.encodeRequest,
  // Up to 0.2.5 a configuration must name the modes.
  sendMessage: (request) => v0_3.encodeSend(request, { acceptedOutputModes: [], blocking: true }),
  streamMessage: (request) => v0_3.encodeSend(request, { acceptedOutputModes: [] }),
}

export const v0_2Client: ClientDialect = {
  name: 'v0.2',
  version: '0.2',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  ...responseDecoder(cardDecoder('0.2')),
}
