import type { RemoteKeySetOptions } from '../../auth/jwt-keys.ts'
import {
  aFunction,
  anObject,
  anyOf,
  checkOptions,
  flag,
  group,
  having,
  integer,
  isAbove,
  listOf,
  milliseconds,
  type OptionChecks,
  oneOf,
  text,
} from '../../base/options.ts'
import type { Fetch } from '../../http/fetch.ts'
import { isLoopback } from '../../http/origin.ts'
import type { DeliveryMemory } from './delivery-memory.ts'
import type { OrderOptions, PushDelivery } from './ordering.ts'
import type { RefusalReason } from './refusal.ts'
import type { RegistrationsOptions } from './registration-tokens.ts'
import type { Signer } from './signers.ts'

/** A delivery that a receiver refused, and why. */
export interface RefusedDelivery {
  readonly reason: RefusalReason
  readonly message: string
  readonly cause?: unknown
}

/** Options of `createReceiver`. */
export interface ReceiverOptions extends RegistrationsOptions {
  /** The URL at which agents reach this receiver, such as `https://me.example.com/hooks/a2a`. */
  readonly url: string
  /** Receives every event. A delivery is acknowledged when the callback has finished; if it throws, the agent retries. */
  readonly onEvent?: (delivery: PushDelivery) => void | Promise<void>
  /** The agents whose signatures are accepted. */
  readonly signers?: readonly Signer[]
  /**
   * What a delivery must carry: a token of this receiver (`token`), a signature of one of the signers (`signature`),
   * `both`, or `either`. Defaults to `both` if there are signers, otherwise to `token`.
   */
  readonly requires?: 'token' | 'signature' | 'both' | 'either'
  /** Fetches the keys of signers. Defaults to the global `fetch`. */
  readonly fetch?: Fetch
  /** How long the keys of signers are cached. */
  readonly keyCache?: Pick<RemoteKeySetOptions, 'cacheFor' | 'staleFor' | 'cooldown'>
  /** Maximum age of a signature, in seconds. Defaults to 5 minutes. */
  readonly maxAge?: number
  /** Tolerated clock difference, in seconds. Defaults to 30. */
  readonly clockSkew?: number
  /** Remembers handled deliveries. Defaults to memory; replicas must share one. */
  readonly memory?: DeliveryMemory
  /** How the order of events is restored. Defaults to waiting 1 second, 32 deliveries per task and 10,000 tasks. */
  readonly order?: Partial<OrderOptions>
  /** Maximum number of deliveries in progress; the receiver refuses others, and agents retry them. Defaults to 256. */
  readonly capacity?: number
  /** Time in which an event must be handled before the sender gets a response, in milliseconds. Defaults to 10 seconds. */
  readonly takeWithin?: number
  /** Maximum size of a body, in bytes. Defaults to 4 MiB. */
  readonly bodyLimit?: number
  /** Maximum nesting depth of the JSON in a body. Defaults to 64. */
  readonly jsonDepth?: number
  /** Whether to answer senders that verify the ownership of the URL. Defaults to true. */
  readonly answersChallenges?: boolean
  /** Called for every refused delivery. If `onEvent` threw, its error is the `cause`. */
  readonly onRefused?: (refusal: RefusedDelivery) => void
  readonly now?: () => number
}

const receiverChecks: OptionChecks<ReceiverOptions> = {
  url: text,
  secret: anyOf('a string or bytes', text, having('', 'byteLength')),
  tokens: listOf(text),
  onEvent: aFunction,
  signers: listOf(anObject),
  requires: oneOf('token', 'signature', 'both', 'either'),
  fetch: aFunction,
  keyCache: group<NonNullable<ReceiverOptions['keyCache']>>({
    cacheFor: isAbove(-1),
    staleFor: isAbove(-1),
    cooldown: isAbove(-1),
  }),
  maxAge: isAbove(0),
  clockSkew: isAbove(-1),
  memory: having('a memory such as createDeliveryMemory()', 'settle'),
  order: group<OrderOptions>({ wait: milliseconds(), perTask: integer(), tasks: integer({ min: 1 }) }),
  capacity: integer({ min: 1 }),
  takeWithin: milliseconds({ min: 1 }),
  bodyLimit: integer({ min: 1 }),
  jsonDepth: integer({ min: 1 }),
  answersChallenges: flag,
  onRefused: aFunction,
  now: aFunction,
}

export type ReceiverSettings = Required<
  Omit<
    ReceiverOptions,
    'memory' | 'secret' | 'tokens' | 'onEvent' | 'fetch' | 'onRefused' | 'order' | 'url' | 'keyCache'
  >
>

export function withReceiverDefaults(options: ReceiverOptions): ReceiverSettings {
  checkOptions('createReceiver', options, receiverChecks, ['url'])
  const { signers = [], requires = signers.length > 0 ? 'both' : 'token' } = options
  if (requires !== 'token' && signers.length === 0) {
    throw new TypeError(
      `createReceiver(): requires: '${requires}' needs signers: list the agents whose signatures are accepted`,
    )
  }
  return {
    signers,
    requires,
    maxAge: options.maxAge ?? 300,
    clockSkew: options.clockSkew ?? 30,
    capacity: options.capacity ?? 256,
    takeWithin: options.takeWithin ?? 10_000,
    bodyLimit: options.bodyLimit ?? 4 * 2 ** 20,
    jsonDepth: options.jsonDepth ?? 64,
    answersChallenges: options.answersChallenges ?? true,
    now: options.now ?? Date.now,
  }
}

/** Requires TLS, except on this machine: deliveries carry tokens. */
export function requireAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isSafe = parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback(parsed.hostname))
  if (!isSafe) throw new TypeError(`createReceiver(): url: expected a URL that begins with https://, got "${url}"`)
  if (parsed.username || parsed.password || parsed.hash || parsed.search) {
    throw new TypeError('createReceiver(): url: expected a URL without credentials, query and fragment')
  }
  return parsed.href
}
