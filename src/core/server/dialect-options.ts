import { anyOf, flag, group, listOf, type OptionCheck, type OptionChecks, oneOf, path } from '../base/options.ts'
import type { FileBytes } from '../dialects/dialect.ts'
import type { MissingVersion } from '../dialects/negotiate.ts'
import type { CardFormat } from '../dialects/served-card.ts'
import type { RestEnvelope } from '../dialects/v0.3/methods.ts'
import { type DialectName, dialectNames, protocolVersions } from '../dialects/versions.ts'

/** The `dialects` option of a server: protocol versions and their forms. */
export interface DialectOptions {
  /** The protocol versions to serve. Defaults to all released ones; `v1.1`, a draft, must be named. */
  readonly speak?: readonly DialectName[]
  /** Rejects requests that deviate from the specification in ways that are common in practice. */
  readonly strict?: boolean
  /**
   * Form of the card. `hybrid` cards have the members of every version, for callers that name none; others get the card
   * of their version. A version gives all callers the card of that version. Defaults to `hybrid`.
   */
  readonly cards?: CardFormat
  /** The version of a request without `A2A-Version`: inferred from its form, or 0.3 as the specification says (`strict`). */
  readonly missingVersion?: MissingVersion
  /** Accepts JSON-RPC calls without `jsonrpc` or `id`. */
  readonly lenientEnvelope?: boolean
  /** Answers failed JSON-RPC calls with the HTTP status of their error, such as 404, instead of 200. Defaults to false. */
  readonly httpErrors?: boolean
  /** Adds `traceId` and `spanId` to the metadata of events. Defaults to false, except for house clients. */
  readonly traceMetadata?: boolean
  /**
   * How 0.3 ProtoJSON and gRPC clients write and read the bytes of files: as the proto says (`raw`), or as a base64 text
   * in their place (`base64`). By default, each caller is recognised.
   */
  readonly fileBytes?: FileBytes
  /** Options of the 0.3 house profile. */
  readonly house?: HouseOptions
  /** Options for clients with special expectations. */
  readonly compatibility?: CompatibilityOptions
}

/** The `dialects.house` option of a server: the house profile of 0.3. */
export interface HouseOptions {
  /** Path of JSON-RPC for house clients. Defaults to `/api/a2a`. */
  readonly path?: string
  /** Sends errors by the numbers of the house profile, some of which have another meaning in 0.3. Defaults to true. */
  readonly codes?: boolean
  /** Answers with an error if a task failed because an answer did not come in time, or a tool failed. Defaults to true. */
  readonly timeoutAsError?: boolean
  /** Keeps streams open while the task waits for input. Defaults to true. */
  readonly holdStreamOnInput?: boolean
  /** Creates the task that `message.taskId` names if the caller has no such task. Defaults to true. */
  readonly ownTaskIds?: boolean
  /** Answers every send with a task, never with a message. Defaults to true. */
  readonly alwaysTask?: boolean
}

/** The `dialects.compatibility` option of a server: forms that single 0.3 clients expect. */
export interface CompatibilityOptions {
  /** Whether REST responses in the JSON of 0.3 are bare or wrapped in an object. Defaults to `bare`. */
  readonly restEnvelope?: RestEnvelope
  /** Cancels a task when a REST client in the JSON of 0.3 leaves its stream. Defaults to false. */
  readonly cancelOnDisconnect?: boolean
  /** Adds the fields of 0.1 to 0.3 responses about tasks that both versions can request. Defaults to false. */
  readonly supersetAnswers?: boolean
  /** Sends 1.0 errors over REST and gRPC with the statuses of 1.0.0, some of which 1.0.1 changed. */
  readonly firstStatuses?: boolean
}

const dialectName = oneOf(...dialectNames)

const dialectChecks: OptionChecks<DialectOptions> = {
  speak: listOf(dialectName),
  strict: flag,
  cards: oneOf('hybrid', 'legacy', ...protocolVersions),
  missingVersion: oneOf('infer', 'strict'),
  lenientEnvelope: flag,
  httpErrors: flag,
  traceMetadata: flag,
  fileBytes: oneOf('raw', 'base64'),
  house: group<HouseOptions>({
    path,
    codes: flag,
    timeoutAsError: flag,
    holdStreamOnInput: flag,
    ownTaskIds: flag,
    alwaysTask: flag,
  }),
  compatibility: group<CompatibilityOptions>({
    restEnvelope: oneOf('bare', 'wrapped'),
    cancelOnDisconnect: flag,
    supersetAnswers: flag,
    firstStatuses: flag,
  }),
}

export const dialectsCheck: OptionCheck = anyOf(
  "a list of versions such as ['v1.0'], or an object",
  listOf(dialectName),
  group(dialectChecks),
)

/** A list of versions is short for `{ speak }`. */
export function toDialectOptions(dialects: readonly DialectName[] | DialectOptions = {}): DialectOptions {
  return Array.isArray(dialects) ? { speak: dialects } : (dialects as DialectOptions)
}
