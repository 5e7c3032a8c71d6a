import type { DialectName, ServerDialect } from './dialect.ts'
import { v0_1, v0_1Strict } from './v0.1/server.ts'
import { v0_2, v0_2Strict } from './v0.2/server.ts'
import { rest as kindRest, type RestEnvelope, restAs } from './v0.3/methods.ts'
import { v0_3, v0_3Strict } from './v0.3/server.ts'
import { v0_1CompatibleAnswers } from './v0.3/v0.1-compatible-answers.ts'
import { createHouseDialect } from './v0.3-house/server.ts'
import { v0_3Proto, v0_3ProtoStrict } from './v0.3-proto/server.ts'
import { encodeFirstHttpError } from './v1.0/errors.ts'
import { v1_0 } from './v1.0/server.ts'

export interface DialectOptions {
  /** The dialects to speak. All of them by default. */
  readonly dialects?: readonly DialectName[]
  /** Refuse the sloppy forms that are common in the wild. */
  readonly strict?: boolean
  /** Tell errors to speakers of the house variant by its own numbers, of which some mean something else in 0.3. */
  readonly houseCodes?: boolean
  /** Break off streams of the house variant with an error if the task failed for want of an answer in time. */
  readonly timeoutAsError?: boolean
  /** Keep streams of the house variant open while the task waits for input. */
  readonly holdStreamOnInput?: boolean
  /** Whether answers to the JSON of 0.3 over REST are bare (the default), or wrapped as its text can be understood. */
  readonly restEnvelope?: RestEnvelope
  /** Cancel a task whose caller leaves its stream: for those who send the JSON of 0.3 over REST. Nobody's by default. */
  readonly cancelOnDisconnect?: boolean
  /**
   * Answer calls about tasks that 0.1 and 0.3 have in common in a form that both can read, unless the caller is known
   * to speak 0.1. By default it is that of 0.3.
   */
  readonly supersetAnswers?: boolean
  /** Tell errors of 1.0 over REST and gRPC by the statuses of 1.0.0, of which 1.0.1 changed some. */
  readonly firstStatuses?: boolean
}

/** The same for the door of the house variant: there 0.3 means that. */
export function serverDialectsForHouse(choice: DialectOptions): Speakers {
  const [first, ...rest] = serverDialects(choice).filter(({ name }) => name !== 'v0.3')
  return first ? [first, ...rest] : serverDialects(choice)
}

/** In the order in which equals are preferred. */
export function serverDialects(choice: DialectOptions): Speakers {
  const { dialects, strict = false, houseCodes: legacyCodes, firstStatuses = false, supersetAnswers, ...house } = choice
  const newest = firstStatuses ? { ...v1_0, encodeHttpError: encodeFirstHttpError } : v1_0
  const variant = createHouseDialect({ ...house, strict, legacyCodes })
  const own = strict ? v0_3Strict : v0_3
  const older = { ...own, ...(supersetAnswers && v0_1CompatibleAnswers(own)), rest: restAs(kindRest, house) }
  const all = strict
    ? [newest, older, variant, v0_3ProtoStrict, v0_2Strict, v0_1Strict]
    : [newest, older, variant, v0_3Proto, v0_2, v0_1]
  const [first, ...rest] = all.filter(({ name }) => dialects?.includes(name) ?? true)
  if (!first) throw new TypeError(`dialects: expected some of ${all.map(({ name }) => name).join(', ')}`)
  return [first, ...rest]
}

type Speakers = readonly [ServerDialect, ...ServerDialect[]]
