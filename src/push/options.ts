import type { PushedKind } from '../dialects/dialect.ts'
import type { Fetch } from '../http/fetch.ts'
import type { SignPush } from './request.ts'
import type { PushStore } from './store.ts'

/** How webhooks are reached: a `fetch` that only goes where it may, as `createPushFetch` of `parley-a2a/node` makes. */
export interface PushFetch extends Fetch {
  /** Rejects with `RequestRefused` if the address, or where its name leads, may not be asked. */
  check(url: string): Promise<void>
}

/** Times are in milliseconds. */
export interface RetryOptions {
  /** How often a delivery is attempted before it is given up. */
  readonly attempts?: number
  /** The pause after the first attempt; it doubles with each. */
  readonly first?: number
  /** The longest pause, also if a receiver asks for more. */
  readonly longest?: number
}

export interface ConcurrencyOptions {
  /** Requests at once. */
  readonly total?: number
  readonly perHost?: number
  /** Beyond those: requests that wait for a slow receiver. */
  readonly slow?: number
  /** How many webhooks this process sees to at once; others wait, or are left to other processes. */
  readonly webhooks?: number
}

export interface PushOptions {
  readonly fetch: PushFetch
  /** Where webhooks are kept. In the log, if that can, or else in memory. */
  readonly store?: PushStore
  /** What is told. By default all that a dialect can, and before 1.0 the statuses at which a task rests. */
  readonly events?: readonly PushedKind[]
  /** Adds headers that prove who sends. */
  readonly sign?: SignPush
  /** How long a receiver may take to answer, in milliseconds. */
  readonly timeout?: number
  readonly retry?: RetryOptions
  /** After so many deliveries in a row that were given up, nothing more is sent until the webhook is resumed. */
  readonly pauseAfter?: number
  /** How many webhooks one task may have. */
  readonly perTask?: number
  readonly concurrency?: ConcurrencyOptions
  /** Asks a receiver that is registered to repeat a random word, so that nobody can register another one's. */
  readonly proveOwnership?: boolean
  /** How long a silent process keeps its webhooks from others, in milliseconds. At least twice the timeout. */
  readonly leaseTtl?: number
}

export interface PushSettings extends Required<Omit<PushOptions, Unset>>, Pick<PushOptions, 'events' | 'sign'> {
  readonly retry: Required<RetryOptions>
  readonly concurrency: Required<ConcurrencyOptions>
}

export function withPushDefaults({ store: _, ...options }: PushOptions): PushSettings {
  if (typeof options.fetch?.check !== 'function') {
    throw new TypeError(
      'push.fetch: expected a guarded fetch, as createPushFetch() of parley-a2a/node makes, so that nobody can have this server call addresses of its own network',
    )
  }
  const timeout = options.timeout ?? 15_000
  return {
    pauseAfter: 3,
    perTask: 20,
    proveOwnership: false,
    ...options,
    timeout,
    leaseTtl: Math.max(options.leaseTtl ?? 30_000, timeout * 2),
    retry: { attempts: 10, first: 1_000, longest: 300_000, ...options.retry },
    concurrency: { total: 64, perHost: 8, slow: 512, webhooks: 10_000, ...options.concurrency },
  }
}

type Unset = 'store' | 'events' | 'sign'
