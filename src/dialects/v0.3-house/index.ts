import { decodeHttpError } from '../decode-error.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { bareTaskForm } from '../push-form.ts'
import { decodeCard } from '../v0.3/decode-card.ts'
import { encodeCard } from '../v0.3/encode-card.ts'
import { encodeHttpError } from '../v0.3/errors.ts'
import { type RestOptions, restAs } from '../v0.3/rest.ts'
import { decodeRequest, decodeRequestStrictly, holding } from './decode.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'
import { encodeEvent, encodeResult, encodeTask } from './encode.ts'
import { encodeRequest } from './encode-request.ts'
import { decodeError, encodeError, encodeLegacyError, encodeLegacyHttpError } from './errors.ts'
import { inputTimeoutIn } from './input-timeout.ts'
import { clientMethods, methods, operations } from './methods.ts'
import { operationFor, recognises } from './recognise.ts'
import { rest } from './rest.ts'

export interface HouseOptions extends RestOptions {
  /** Tells errors by the numbers of the house, of which some mean something else in 0.3, and any over REST as 500. */
  readonly legacyCodes?: boolean
  /** Refuses what neither 0.3 nor the house has. */
  readonly strict?: boolean
  /** Breaks a stream off with an error, behind the last status, if its task failed for want of an answer in time. */
  readonly timeoutAsError?: boolean
  /** Goes on with a stream whose task waits for input, instead of ending it there. */
  readonly holdStreamOnInput?: boolean
}

/** A2A 0.3 as one house speaks it: with tools of the caller, requests for input, and its own way to follow a task. */
export function createHouseDialect(options: HouseOptions = {}): ServerDialect {
  const { legacyCodes = false, strict = false, timeoutAsError = false, holdStreamOnInput = false } = options
  const decode = strict ? decodeRequestStrictly : decodeRequest
  return {
    name: 'v0.3-house',
    version: '0.3',
    bindings: ['JSONRPC', 'HTTP+JSON'],
    methods,
    operations,
    recognises,
    operationFor,
    hasRequests: true,
    decodeRequest: holdStreamOnInput ? holding(decode) : decode,
    encodeResult,
    encodeEvent,
    pushForm: bareTaskForm(encodeTask),
    ...(timeoutAsError && { errorAfter: inputTimeoutIn }),
    encodeError: legacyCodes ? encodeLegacyError : encodeError,
    encodeHttpError: legacyCodes ? encodeLegacyHttpError : encodeHttpError,
    rest: restAs(rest, options),
    encodeCard,
  }
}

export const v0_3House = createHouseDialect()
export const v0_3HouseStrict = createHouseDialect({ strict: true })

export const v0_3HouseClient: ClientDialect = {
  name: 'v0.3-house',
  version: '0.3',
  bindings: ['JSONRPC', 'HTTP+JSON'],
  methods: clientMethods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  errors: async () => ({ decodeError, decodeHttpError }),
  decodeCard,
}
