import { type Clock, systemClock } from '../../base/clock.ts'
import type { ClientDialect } from '../../dialects/dialect.ts'
import type { Fetch } from '../../http/fetch.ts'
import type { Call, Operation } from '../../protocol/service.ts'

export interface AnswerLimits {
  /** Maximum bytes of a response. Defaults to 64 MiB. */
  readonly answerLimit?: number
  /** Maximum characters of one stream event. Defaults to 10 Mi. */
  readonly eventLimit?: number
  /** Maximum nesting of lists and objects. Defaults to 64. */
  readonly jsonDepth?: number
  /** Milliseconds without a byte after which a stream counts as broken. Defaults to 45 seconds. */
  readonly idle?: number
  /**
   * Milliseconds in which the stream that a message opens must begin: agents may think long before the first event.
   * Defaults to 5 minutes.
   */
  readonly openWithin?: number
  /** Replaces the system clock in tests. */
  readonly clock?: Clock
}

export function answerLimitsOf(limits: AnswerLimits) {
  const { answerLimit = 64 * 2 ** 20, eventLimit = 10 * 2 ** 20, jsonDepth = 64 } = limits
  const { idle = 45_000, openWithin = 300_000, clock = systemClock } = limits
  return { answerLimit, eventLimit, jsonDepth, idle, openWithin, clock }
}

export interface WireClientOptions extends AnswerLimits {
  /** The URL of the endpoint, as the card names it. */
  readonly url: string
  readonly dialect: ClientDialect
  readonly fetch: Fetch
  /** Named in every request, if the card names it (A2A 1.0 §5.8). */
  readonly tenant?: string
  /** URIs of the extensions to activate. */
  readonly extensions?: readonly string[]
  /** Returns the part of an extended card that its signatures cover; throws if the card fails verification. */
  readonly verifyExtendedCard?: (card: unknown) => Promise<unknown>
}

/** The result again; an extended card only as far as it is verified. */
export async function verifiedResult(
  operation: Operation,
  result: unknown,
  { verifyExtendedCard }: WireClientOptions,
): Promise<unknown> {
  return verifyExtendedCard && operation === 'getExtendedCard' ? await verifyExtendedCard(result) : result
}

/** The service parameters of a call, for headers or gRPC metadata (A2A 1.0 §3.2.6). */
export function serviceParametersOf(
  { dialect, extensions = [] }: WireClientOptions,
  { idempotencyKey, headers }: Pick<Call, 'idempotencyKey' | 'headers'>,
): Readonly<Record<string, string>> {
  const uris = extensions.join(', ')
  return {
    ...headers,
    'a2a-version': dialect.version,
    // 1.0 dropped the prefix of the header; a server reads the one it knows.
    ...(uris !== '' && { 'a2a-extensions': uris, 'x-a2a-extensions': uris }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
}
