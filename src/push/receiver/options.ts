import type { RemoteKeysOptions } from '../../auth/jwt.ts'
import type { Fetch } from '../../http/fetch.ts'
import { isLoopback } from '../../http/origin.ts'
import type { DeliveryMemory } from './delivery-memory.ts'
import type { OrderOptions, PushDelivery } from './ordering.ts'
import type { RefusalReason } from './refusal.ts'
import type { RegistrationsOptions } from './registration-tokens.ts'
import type { Signer } from './signers.ts'

export interface RefusedDelivery {
  readonly reason: RefusalReason
  readonly message: string
  readonly cause?: unknown
}

export interface ReceiveOptions extends RegistrationsOptions {
  /** Where agents reach this receiver, such as `https://me.example.com/hooks/a2a`. */
  readonly url: string
  /** Told every event. A delivery is acknowledged when it is done; if it throws, the agent tries again. */
  readonly onEvent?: (delivery: PushDelivery) => void | Promise<void>
  /** Whose signatures are believed. */
  readonly signers?: readonly Signer[]
  /**
   * What a delivery must bring: a token that was given out here (`token`, the default), a signature of a signer
   * (`signature`), both (the default if there are signers), or one of them (`either`).
   */
  readonly requires?: 'token' | 'signature' | 'both' | 'either'
  /** Gets the keys of signers. The global one by default. */
  readonly fetch?: Fetch
  /** For how long those keys are kept. */
  readonly keyCache?: Pick<RemoteKeysOptions, 'cacheFor' | 'staleFor' | 'cooldown'>
  /** Seconds after which what was signed is refused. 5 minutes by default. */
  readonly maxAge?: number
  /** Seconds by which clocks may differ. 30 by default. */
  readonly clockSkew?: number
  /** What was told. In memory by default; replicas share one. */
  readonly memory?: DeliveryMemory
  /** How the order of events is restored. A second, 32 per task, 10,000 tasks by default. */
  readonly order?: Partial<OrderOptions>
  /** Deliveries that are here at once. Others are asked to come again. 256 by default. */
  readonly capacity?: number
  /** Milliseconds in which an event must be taken, so that the sender gets an answer in time. 10 seconds by default. */
  readonly takeWithin?: number
  /** Bytes of a body. 4 MiB by default. */
  readonly bodyLimit?: number
  /** How deep the JSON of a body may be nested. 64 by default. */
  readonly jsonDepth?: number
  /** Whether senders that ask for a proof of who owns the address get it. So by default. */
  readonly answersChallenges?: boolean
  /** Told what was refused, and why; and, as its `cause`, what `onEvent` threw. */
  readonly onRefused?: (refusal: RefusedDelivery) => void
  readonly now?: () => number
}

export type Settings = Required<
  Omit<
    ReceiveOptions,
    'memory' | 'secret' | 'tokens' | 'onEvent' | 'fetch' | 'onRefused' | 'order' | 'url' | 'keyCache'
  >
>

export function settingsOf(options: ReceiveOptions): Settings {
  const { signers = [], requires = signers.length > 0 ? 'both' : 'token' } = options
  if (requires !== 'token' && signers.length === 0) {
    throw new TypeError(`receive(): requires: '${requires}' needs signers: say whose signatures are believed`)
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

/** Tokens go there, so nobody may read along. */
export function requireAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isSafe = parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback(parsed.hostname))
  if (!isSafe) throw new TypeError(`receive(): url: expected an address that begins with https://, got "${url}"`)
  if (parsed.username || parsed.password || parsed.hash || parsed.search) {
    throw new TypeError('receive(): url: expected an address without credentials, query and fragment')
  }
  return parsed.href
}
