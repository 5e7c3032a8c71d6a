import type { ClientDialect } from '../dialect.ts'
import * as v0_3 from '../v0.3/encode-request.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...v0_3.encodeRequest,
  // Up to 0.2.5 a configuration must name the modes.
  sendMessage: (request) => v0_3.encodeSend(request, { acceptedOutputModes: [], blocking: true }),
  streamMessage: (request) => v0_3.encodeSend(request, { acceptedOutputModes: [] }),
}
