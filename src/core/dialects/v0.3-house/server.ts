import { bareTaskPushFormat, type ServerDialect } from '../dialect.ts'
import { withWireNames } from '../error-texts.ts'
import { legacyFacts } from '../legacy-codec.ts'
import { encodeCard } from '../v0.3/card.ts'
import { encodeHttpError } from '../v0.3/errors.ts'
import { type RestOptions, withRestOptions } from '../v0.3/methods.ts'
import { wireNames } from '../v0.3/server.ts'
import { decodeRequest, decodeRequestStrictly, holdOnInput } from './decode.ts'
import { encodeEvent, encodeResult, encodeTask } from './encode.ts'
import { addRequestFacts, encodeError, encodeLegacyError, encodeLegacyHttpError, inputTimeoutIn } from './errors.ts'
import { methods, operationFor, operations, recognises, restServerBinding } from './methods.ts'

export interface HouseOptions extends RestOptions {
  /**
   * Sends errors with the numbers of the house, some of which have another meaning in 0.3. Over REST, most errors are
   * 500 then.
   */
  readonly legacyCodes?: boolean
  /** Rejects requests that deviate from 0.3 and the house. */
  readonly strict?: boolean
  /** Ends a stream with an error instead of the last status if the task failed because an answer did not come in time. */
  readonly timeoutAsError?: boolean
  /** Keeps streams open while the task waits for input. */
  readonly holdStreamOnInput?: boolean
}

/** A2A 0.3 with client tools, input requests, and its own method to subscribe to a task. */
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
    ...legacyFacts,
    namesExtensionsInMessages: true,
    decodeRequest: holdStreamOnInput ? holdOnInput(decode) : decode,
    encodeResult,
    encodeEvent,
    malformedStatus: 400,
    adaptError: addRequestFacts,
    pushFormat: bareTaskPushFormat(encodeTask),
    ...(timeoutAsError && { errorInsteadOf: inputTimeoutIn }),
    ...withWireNames(
      wireNames,
      legacyCodes
        ? { encodeError: encodeLegacyError, encodeHttpError: encodeLegacyHttpError }
        : { encodeError, encodeHttpError },
    ),
    rest: withRestOptions(restServerBinding, options),
    encodeCard,
  }
}

export const v0_3House = createHouseDialect()

export const v0_3HouseStrict = createHouseDialect({ strict: true })
