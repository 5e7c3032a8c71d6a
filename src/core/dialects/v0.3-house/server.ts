import { defined } from '../../base/json.ts'
import { bareTaskPushFormat, type ServerDialect } from '../dialect.ts'
import { withWireNames } from '../error-texts.ts'
import { legacyFacts } from '../legacy-codec.ts'
import { encodeCard } from '../v0.3/card.ts'
import { encodeHttpError } from '../v0.3/errors.ts'
import { type RestOptions, withRestOptions } from '../v0.3/methods.ts'
import * as v0_3Requests from '../v0.3/requests.ts'
import { wireNames } from '../v0.3/server.ts'
import { createRequestDecoder } from './decode.ts'
import { encodeEvent, encodeResult, encodeTask } from './encode.ts'
import {
  addRequestFacts,
  encodeError,
  encodeHouseError,
  encodeHouseHttpError,
  failureIn,
  withFailures,
} from './errors.ts'
import { methods, operationFor, operations, recognises, restServerBinding } from './methods.ts'

export interface HouseOptions extends RestOptions {
  /**
   * Sends errors with the numbers of the house, some of which have another meaning in 0.3. Over REST, most errors are
   * 500 then. Defaults to true.
   */
  readonly houseCodes?: boolean
  /** Rejects requests that deviate from 0.3 and the house. */
  readonly strict?: boolean
  /** Answers with an error if the task failed because an answer did not come in time, or a tool failed. Defaults to true. */
  readonly timeoutAsError?: boolean
  /** Keeps streams open while the task waits for input. Defaults to true. */
  readonly holdStreamOnInput?: boolean
  /** Creates the task that a message names if there is none. Defaults to true. */
  readonly ownTaskIds?: boolean
  /** Answers every send with a task. Defaults to true. */
  readonly alwaysTask?: boolean
}

/** A2A 0.3 with client tools, input requests, and its own method to subscribe to a task. */
export function createHouseDialect(options: HouseOptions = {}): ServerDialect {
  const { houseCodes = true, strict = false, timeoutAsError = true } = options
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
    decodeRequest: createRequestDecoder(
      strict ? v0_3Requests.decodeRequestStrictly : v0_3Requests.decodeRequest,
      options,
    ),
    encodeResult: timeoutAsError ? withFailures(encodeResult) : encodeResult,
    encodeEvent,
    malformedStatus: 400,
    adaptError: addRequestFacts,
    pushFormat: bareTaskPushFormat(encodeTask),
    ...defined({ errorInsteadOf: timeoutAsError ? failureIn : undefined }),
    ...withWireNames(
      wireNames,
      houseCodes
        ? { encodeError: encodeHouseError, encodeHttpError: encodeHouseHttpError }
        : { encodeError, encodeHttpError },
    ),
    rest: withRestOptions(restServerBinding, options),
    encodeCard,
  }
}

export const v0_3House = createHouseDialect()

/** The JSON of the house profile alone, for clients that write and read it: tasks, ids and errors stay as they are. */
export const houseJson = createHouseDialect({ ownTaskIds: false, alwaysTask: false, timeoutAsError: false })

export const v0_3HouseStrict = createHouseDialect({ strict: true })
