import { bareTaskPushFormat, type ClientDialect, type RestServerBinding, type ServerDialect } from '../dialect.ts'
import { decodeHttpError } from '../errors.ts'
import { decodeCard, encodeCard } from '../v0.3/card.ts'
import { encodeHttpError } from '../v0.3/errors.ts'
import * as v0_3 from '../v0.3/methods.ts'
import { type RestOptions, withRestOptions } from '../v0.3/methods.ts'
import {
  clientMethods,
  decodeEvent,
  decodeRequest,
  decodeRequestStrictly,
  decodeResult,
  hasHouseMessage,
  holding,
  methods,
  operationFor,
  operations,
  recognises,
} from './decode.ts'
import { encodeEvent, encodeRequest, encodeResult, encodeTask } from './encode.ts'
import { decodeError, encodeError, encodeLegacyError, encodeLegacyHttpError, inputTimeoutIn } from './errors.ts'

const rest: RestServerBinding = { ...v0_3.restServerBinding, recognises: ({ body }) => hasHouseMessage(body) }

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
  errors: { decodeError, decodeHttpError },
  decodeCard,
}

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
    hasInputRequests: true,
    decodeRequest: holdStreamOnInput ? holding(decode) : decode,
    encodeResult,
    encodeEvent,
    pushFormat: bareTaskPushFormat(encodeTask),
    ...(timeoutAsError && { errorAfter: inputTimeoutIn }),
    encodeError: legacyCodes ? encodeLegacyError : encodeError,
    encodeHttpError: legacyCodes ? encodeLegacyHttpError : encodeHttpError,
    rest: withRestOptions(rest, options),
    encodeCard,
  }
}
