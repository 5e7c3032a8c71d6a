import {
  aFunction,
  flag,
  group,
  having,
  integer,
  listOf,
  milliseconds,
  type OptionCheck,
  type OptionChecks,
  oneOf,
} from '../base/options.ts'
import type { PushKind } from '../dialects/dialect.ts'
import type { Fetch } from '../http/fetch.ts'
import type { SendPost, SignPush } from './request.ts'
import type { PushStore } from './store.ts'

/** A `fetch` that calls only permitted addresses; create one with `createPushFetch` of `parley-a2a/node`. */
export interface PushFetch extends Fetch {
  /** Rejects with `RequestRefused` if the URL, or an address its host resolves to, is forbidden. */
  check(url: string): Promise<void>
  /** Sends a delivery for less CPU time than a call. Deliveries use it if it exists. */
  readonly post?: SendPost
  /** Used instead for webhooks whose registration came through a proxy, if other addresses are permitted for those. */
  readonly forwarded?: PushFetch
}

/** The `fetch` for a webhook, by how it was registered. */
export function fetchFor({ isForwarded }: { readonly isForwarded?: boolean | undefined }, fetch: PushFetch): PushFetch {
  return (isForwarded && fetch.forwarded) || fetch
}

/** All times are in milliseconds. */
export interface RetryOptions {
  /** Number of attempts before a delivery is given up. Defaults to 10. */
  readonly attempts?: number
  /** Delay after the first attempt; it doubles with each further one. Defaults to 1 second. */
  readonly first?: number
  /** Maximum delay, which also caps `Retry-After`. Defaults to 5 minutes. */
  readonly longest?: number
}

export interface ConcurrencyOptions {
  /** Maximum number of concurrent requests. Defaults to 64. */
  readonly total?: number
  /** Maximum number of concurrent requests to one host. Defaults to 8. */
  readonly perHost?: number
  /** Maximum number of further requests that wait for slow receivers. Defaults to 512. */
  readonly slow?: number
  /** Maximum number of webhooks that this process leases; others wait or go to other processes. Defaults to 10,000. */
  readonly webhooks?: number
}

/** The `push` option of a server: webhooks. */
export interface PushOptions {
  /** Sends the deliveries. `serve` creates a guarded one by itself; elsewhere, pass `createPushFetch()`. */
  readonly fetch: PushFetch
  /** Where webhooks are stored. Defaults to the task log if it can store them, otherwise to memory. */
  readonly store?: PushStore
  /** Events to send. Defaults to all that the dialect supports; before 1.0, to final and interrupted statuses. */
  readonly events?: readonly PushKind[]
  /** Adds headers that authenticate the sender to the receiver. */
  readonly sign?: SignPush
  /** Timeout of one request, in milliseconds. Defaults to 15 seconds. */
  readonly timeout?: number
  /** How failed deliveries are retried: `attempts`, and the `first` and `longest` delay in milliseconds. */
  readonly retry?: RetryOptions
  /** Number of consecutive given-up deliveries after which a webhook is paused until it is resumed. Defaults to 3. */
  readonly pauseAfter?: number
  /** Maximum number of webhooks per task. Defaults to 20. */
  readonly perTask?: number
  /** How many deliveries run at the same time: `total`, `perHost`, `slow` and `webhooks`. */
  readonly concurrency?: ConcurrencyOptions
  /**
   * Sends ProtoJSON to webhooks that were registered over gRPC, or as ProtoJSON over REST, in 0.3. Defaults to false:
   * they get the JSON of 0.3 with `kind`, which SDKs expect.
   */
  readonly protoJson?: boolean
  /**
   * Rejects a webhook whose host cannot be resolved when it is registered. Defaults to false: the address is checked if
   * the host can be resolved, and before every delivery in any case.
   */
  readonly requireResolvable?: boolean
  /** Challenges a receiver at registration, so that callers can only register receivers they own. Defaults to false. */
  readonly proveOwnership?: boolean
  /** How long a webhook stays leased to a crashed process, in milliseconds. Defaults to 30 seconds; at least twice `timeout`. */
  readonly leaseTtl?: number
}

/** An integer from 1 on, or `Infinity`. */
const count: OptionCheck = (value, name) => {
  if (value !== Number.POSITIVE_INFINITY) integer({ min: 1 })(value, name)
}

export const pushChecks: OptionChecks<PushOptions> = {
  fetch: aFunction,
  store: having('a store of webhooks', 'add', 'claim'),
  events: listOf(oneOf('status', 'rest', 'artifact', 'message')),
  sign: aFunction,
  timeout: milliseconds({ min: 1, infinite: false }),
  retry: group<RetryOptions>({ attempts: count, first: milliseconds(), longest: milliseconds() }),
  pauseAfter: count,
  perTask: count,
  concurrency: group<ConcurrencyOptions>({ total: count, perHost: count, slow: integer(), webhooks: count }),
  protoJson: flag,
  requireResolvable: flag,
  proveOwnership: flag,
  leaseTtl: milliseconds({ min: 1, infinite: false }),
}

export interface PushSettings
  extends Required<Omit<PushOptions, OptionalSetting>>,
    Pick<PushOptions, 'events' | 'sign'> {
  readonly retry: Required<RetryOptions>
  readonly concurrency: Required<ConcurrencyOptions>
}

export function withPushDefaults({ store: _, ...options }: PushOptions): PushSettings {
  if (typeof options.fetch?.check !== 'function') {
    throw new TypeError(
      'push.fetch: expected a guarded fetch such as createPushFetch() of parley-a2a/node, so that callers cannot make this server call addresses of its own network',
    )
  }
  const timeout = options.timeout ?? 15_000
  if (options.leaseTtl !== undefined && options.leaseTtl < timeout * 2) {
    throw new TypeError(
      `push.leaseTtl: expected at least ${timeout * 2}, twice push.timeout, got ${options.leaseTtl}: another process would take over a webhook while its request is under way.`,
    )
  }
  return {
    pauseAfter: 3,
    perTask: 20,
    proveOwnership: false,
    protoJson: false,
    requireResolvable: false,
    ...options,
    timeout,
    leaseTtl: Math.max(options.leaseTtl ?? 30_000, timeout * 2),
    retry: { attempts: 10, first: 1_000, longest: 300_000, ...options.retry },
    concurrency: { total: 64, perHost: 8, slow: 512, webhooks: 10_000, ...options.concurrency },
  }
}

type OptionalSetting = 'store' | 'events' | 'sign'
