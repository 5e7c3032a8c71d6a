import type { Agent } from '../agent/agent.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Client } from '../client/client.ts'
import { connect } from '../client/connect.ts'
import type { ConnectOptions } from '../client/options.ts'
import { createHandler } from '../server/handler.ts'
import type { HandlerOptions } from '../server/options.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import type { Fault } from './faults.ts'
import type { VirtualClock } from './virtual-clock.ts'
import { createWire, type Wire } from './wire.ts'

/** What an agent throws reaches the test as a failed task. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export interface PairOptions {
  /** Leases, heartbeats, deadlines, pauses and retention go by it, on both sides. */
  readonly clock?: VirtualClock
  /** What goes wrong with each stream, the first one first; with those beyond nothing does. */
  readonly faults?: readonly (Fault | readonly Fault[])[]
  /** How the client connects, such as `{ dialects: ['v0.3'], bindings: ['HTTP+JSON'] }`. */
  readonly connect?: ConnectOptions
  /**
   * How the agent is served, such as `{ cancelGrace: 50 }`. A log of your own must have the clock, too:
   * `createSqliteLog({ file, clock })`.
   */
  readonly serve?: Partial<HandlerOptions>
}

/** A client and its agent, with everything between them but a socket. */
export interface Pair extends AsyncDisposable {
  readonly client: Client
  readonly wire: Wire
  /** Another client of the same agent, over the same wire. */
  connect(options?: ConnectOptions): Promise<Client>
  close(): Promise<void>
}

/** Gives a client and the agent that it talks to, in this process, without a socket. */
export async function createPair(agent: Agent, options: PairOptions = {}): Promise<Pair> {
  const { clock, faults = [] } = options
  const time: Clock = clock ?? systemClock
  const handler = createHandler(agent, {
    logger: quiet,
    auth: { anonymous: { listAll: true } },
    log: createMemoryLog({ clock: time }),
    ...options.serve,
    clock: time,
  })
  const wire = createWire(handler, { clock: time, faults })
  const open: Pair['connect'] = (more = {}) => connect(wire, { ...options.connect, ...more, clock: time })
  const close = async () => {
    const draining = handler.drain(0)
    await (clock ? clock.run(draining) : draining)
  }
  return { client: await open(), wire, connect: open, close, [Symbol.asyncDispose]: close }
}
