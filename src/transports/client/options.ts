import { type Clock, systemClock } from '../../base/clock.ts'
import type { ClientDialect } from '../../dialects/dialect.ts'
import type { Fetch } from '../../http/fetch.ts'
import type { Call, Operation } from '../../protocol/service.ts'

export interface AnswerLimits {
  /** Bytes of an answer. 64 MiB by default. */
  readonly answerLimit?: number
  /** Characters of one event of a stream. 10 Mi by default. */
  readonly eventLimit?: number
  /** How many lists and objects may lie in each other. 64 by default. */
  readonly jsonDepth?: number
  /** Milliseconds without a byte after which a stream counts as broken. 45 seconds by default. */
  readonly idle?: number
  /**
   * Milliseconds until a stream must begin that a message opens: agents may think long before they say a word.
   * 5 minutes by default.
   */
  readonly openWithin?: number
  /** For tests. */
  readonly clock?: Clock
}

export function answerLimitsOf(limits: AnswerLimits) {
  const { answerLimit = 64 * 2 ** 20, eventLimit = 10 * 2 ** 20, jsonDepth = 64 } = limits
  const { idle = 45_000, openWithin = 300_000, clock = systemClock } = limits
  return { answerLimit, eventLimit, jsonDepth, idle, openWithin, clock }
}

export interface WireClientOptions extends AnswerLimits {
  /** Where the agent is asked, as its card says. */
  readonly url: string
  readonly dialect: ClientDialect
  readonly fetch: Fetch
  /** Named in every request, if the card names it (A2A 1.0 §5.8). */
  readonly tenant?: string
  /** Extensions to activate, by their URIs. */
  readonly extensions?: readonly string[]
  /** Gives what of an extended card is to be believed; throws if nothing is. */
  readonly believe?: (card: unknown) => Promise<unknown>
}

/** A result as far as it is to be believed: cards may have to prove whose they are. */
export async function believed(
  operation: Operation,
  result: unknown,
  { believe }: WireClientOptions,
): Promise<unknown> {
  return believe && operation === 'getExtendedCard' ? await believe(result) : result
}

/** What is said beside the request, in headers or metadata (A2A 1.0 §3.2.6). */
export function parametersOf(
  { dialect, extensions = [] }: WireClientOptions,
  { idempotencyKey, headers }: Pick<Call, 'idempotencyKey' | 'headers'>,
): Readonly<Record<string, string>> {
  const activated = extensions.join(', ')
  return {
    ...headers,
    'a2a-version': dialect.version,
    // The header lost its prefix with 1.0; a server reads the one that it knows.
    ...(activated !== '' && { 'a2a-extensions': activated, 'x-a2a-extensions': activated }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
}
