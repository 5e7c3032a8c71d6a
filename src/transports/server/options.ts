import { type Clock, systemClock } from '../../base/clock.ts'
import type { DialectSet } from '../../dialects/negotiate.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { Principal } from '../../protocol/model.ts'
import type { Service, TaskAddress } from '../../protocol/service.ts'

export interface WireLimits {
  /** Bytes of a request. 10 MiB by default. */
  readonly bodyLimit?: number
  /** How many lists and objects may lie in each other. 64 by default. */
  readonly jsonDepth?: number
  /** Milliseconds of silence after which a stream says that it is still there. 15 seconds by default. */
  readonly heartbeat?: number
  /** For tests. */
  readonly clock?: Clock
}

export function limitsOf(limits: WireLimits) {
  const { bodyLimit = 10 * 2 ** 20, jsonDepth = 64, heartbeat = 15_000, clock = systemClock } = limits
  return { bodyLimit, jsonDepth, heartbeat, clock }
}

export interface EnvelopeOptions {
  /** Take calls of JSON-RPC that do not say what they are, as in some examples: without `jsonrpc`, or without `id`. */
  readonly lenientEnvelope?: boolean
}

/** What every transport puts a face on, and how. */
export interface WireOptions extends WireLimits, EnvelopeOptions, DialectSet {
  readonly service: Service
  /** Who is calling. What it throws is the answer. */
  readonly principalOf: (incoming: Incoming) => Principal | Promise<Principal>
  /** The dialect in which this caller last wrote to a task. */
  readonly recall: (address: TaskAddress, principal: Principal) => Promise<string | undefined>
  /** The address by which a caller came. */
  readonly originOf?: (incoming: Pick<Incoming, 'header' | 'secure' | 'base'>) => string
  /** Gets what must not be shown to a caller. */
  readonly onError: (error: unknown, incoming?: Pick<Incoming, 'header'>) => void
}
