import type { ClientDialect } from '../dialect.ts'
import { withImmediateSends } from '../immediate-sends.ts'
import { decodeCard } from './card.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { decodeError, decodeHttpError } from './errors.ts'
import { methods } from './methods.ts'

export const v0_1Client: ClientDialect = {
  name: 'v0.1',
  version: '0.1',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  decodeCard,
  errors: { decodeError, decodeHttpError },
  cannotResume: true,
  // No request can say that it should return before the task has ended.
  adaptService: (service, agent) => withImmediateSends(service, { cancelsOnLeave: false }, agent),
}
