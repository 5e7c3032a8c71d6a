import type { FileBytes, ServerDialect } from './dialect.ts'
import { withAnswersForContent } from './v0.1/python-a2a.ts'
import { v0_1, v0_1Strict } from './v0.1/server.ts'
import { v0_2, v0_2Strict } from './v0.2/server.ts'
import { type RestEnvelope, restServerBinding, withRestOptions } from './v0.3/methods.ts'
import { v0_3, v0_3Strict } from './v0.3/server.ts'
import { v0_1CompatibleAnswers } from './v0.3/v0.1-compatible-answers.ts'
import { withWrappedAnswers } from './v0.3/wrapped-answers.ts'
import { createHouseDialect, type HouseOptions } from './v0.3-house/server.ts'
import { createProtoDialect } from './v0.3-proto/server.ts'
import { v1_0, v1_0_0 } from './v1.0/server.ts'
import { v1_1 } from './v1.1/server.ts'
import { type DialectName, releasedDialects } from './versions.ts'

export interface DialectOptions
  extends Pick<HouseOptions, 'houseCodes' | 'timeoutAsError' | 'holdStreamOnInput' | 'ownTaskIds' | 'alwaysTask'> {
  /** The dialects to serve. Defaults to those of released versions. */
  readonly dialects?: readonly DialectName[]
  /** Rejects requests that deviate from the specification in ways that are common in practice. */
  readonly strict?: boolean
  /** Whether REST responses in the JSON of 0.3 are bare, or wrapped in an object. Defaults to `bare`. */
  readonly restEnvelope?: RestEnvelope
  /** Cancels a task if its caller, a REST client in the JSON of 0.3, leaves its stream. Defaults to false. */
  readonly cancelOnDisconnect?: boolean
  /**
   * Adds the fields of 0.1 to 0.3 responses about tasks, since 0.1 and 0.3 share these calls. Callers that are known to
   * be 0.1 clients get 0.1 responses in any case. Defaults to false.
   */
  readonly supersetAnswers?: boolean
  /** Sends 1.0 errors over REST and gRPC with the statuses of 1.0.0, some of which 1.0.1 changed. */
  readonly firstStatuses?: boolean
  /** Sends ProtoJSON to webhooks that were registered in the ProtoJSON of 0.3. Defaults to the JSON of 0.3, with `kind`. */
  readonly protoJsonWebhooks?: boolean
  /** How callers of the ProtoJSON of 0.3 write and read the bytes of files. By default, each caller is recognised. */
  readonly fileBytes?: FileBytes
}

/**
 * The dialects of an endpoint for house clients: all but 0.3, so that version 0.3 selects the house dialect. That comes
 * first, for errors in requests whose dialect cannot be found.
 */
export function serverDialectsForHouse(options: DialectOptions): NonEmptyDialects {
  const dialects = serverDialects(options).filter(({ name }) => name !== 'v0.3')
  const isHouse = ({ name }: ServerDialect) => name === 'v0.3-house'
  const [first, ...rest] = [...dialects.filter(isHouse), ...dialects.filter((dialect) => !isHouse(dialect))]
  return first ? [first, ...rest] : serverDialects(options)
}

/** The dialects of an endpoint. Of several that match a call equally, the earlier one is used. */
export function serverDialects(options: DialectOptions): NonEmptyDialects {
  const { dialects = releasedDialects, strict = false, houseCodes, firstStatuses, supersetAnswers, ...others } = options
  const { protoJsonWebhooks, fileBytes, ...houseOptions } = others
  const v0_3Base = strict ? v0_3Strict : v0_3
  const v0_3Server = {
    ...v0_3Base,
    ...(supersetAnswers && v0_1CompatibleAnswers(v0_3Base)),
    rest: withRestOptions(restServerBinding, houseOptions),
  }
  const all = [
    firstStatuses ? v1_0_0 : v1_0,
    v1_1,
    strict ? v0_3Server : withWrappedAnswers(v0_3Server),
    createHouseDialect({ ...houseOptions, strict, houseCodes }),
    createProtoDialect({ strict, protoJsonWebhooks, fileBytes }),
    ...(strict ? [v0_2Strict, v0_1Strict] : [v0_2, withAnswersForContent(v0_1)]),
  ]
  const [first, ...rest] = all.filter(({ name }) => dialects.includes(name))
  if (!first) throw new TypeError(`dialects: expected some of ${all.map(({ name }) => name).join(', ')}`)
  return [first, ...rest]
}

type NonEmptyDialects = readonly [ServerDialect, ...ServerDialect[]]
