import { type Clock, systemClock } from '../../base/clock.ts'
import type { DialectSet } from '../../dialects/negotiate.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/model.ts'
import type { Service, TaskAddress } from '../../protocol/service.ts'

export interface WireLimits {
  /** Maximum size of a request body in bytes. Defaults to 10 MiB. */
  readonly bodyLimit?: number
  /** Maximum nesting depth of JSON in a request. Defaults to 64. */
  readonly jsonDepth?: number
  /** Milliseconds of silence after which a stream sends a keep-alive comment. Defaults to 15 seconds. */
  readonly heartbeat?: number
  /** For tests. */
  readonly clock?: Clock
}

export interface EnvelopeOptions {
  /** Accepts JSON-RPC calls without `jsonrpc` or without `id`, as in some examples. */
  readonly lenientEnvelope?: boolean
  /** Answers failed JSON-RPC calls with the HTTP status of their error, instead of 200. */
  readonly httpErrors?: boolean
}

/** What every server transport needs. */
export interface WireOptions extends WireLimits, EnvelopeOptions, DialectSet {
  readonly service: Service
  /** The tenant of the agent. A call that names another one is rejected; a call that names none is for this agent. */
  readonly tenant?: string | undefined
  /** Returns the principal of a request, or throws the error to answer with. */
  readonly authenticate: (incoming: Incoming) => Principal | Promise<Principal>
  /** The dialect in which this principal last wrote to a task. */
  readonly lastDialect: (address: TaskAddress, principal: Principal) => Promise<string | undefined>
  /** The origin that the caller used. */
  readonly originOf?: (incoming: Pick<Incoming, 'header' | 'secure' | 'base'>) => string
  /** Gets errors that callers must not see. */
  readonly onError: (error: unknown, incoming?: Pick<Incoming, 'header'>) => void
  /** Gets the errors by which calls are rejected, with the operation if it was recognized. */
  readonly onRejected?: ((error: A2AError, incoming: Pick<Incoming, 'header'>, operation?: string) => void) | undefined
}

export function withWireDefaults(limits: WireLimits) {
  const { bodyLimit = 10 * 2 ** 20, jsonDepth = 64, heartbeat = 15_000, clock = systemClock } = limits
  return { bodyLimit, jsonDepth, heartbeat, clock }
}
