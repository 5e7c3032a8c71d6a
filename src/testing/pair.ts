import type { Agent } from '../core/agent/agent.ts'
import { type Clock, systemClock } from '../core/base/clock.ts'
import type { Logger } from '../core/base/logger.ts'
import { anObject, anything, checkOptions, clockCheck, listOf } from '../core/base/options.ts'
import { withOptionChecks } from '../core/client/check-options.ts'
import type { Client } from '../core/client/client.ts'
import { connect } from '../core/client/connect.ts'
import type { ConnectOptions } from '../core/client/options.ts'
import { createHandler, type Handler } from '../core/server/handler.ts'
import type { HandlerOptions } from '../core/server/options.ts'
import { createMemoryLog } from '../core/tasks/memory-log.ts'
import { type CallFault, connectionFailure, type Fault, spoil } from './faults.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** Silent, because an error of the agent reaches the test as a failed task. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false }

/** Options of `createPair`. */
export interface PairOptions {
  /** The clock of both sides: leases, heartbeats, deadlines, back-off and retention. Defaults to the system clock. */
  readonly clock?: VirtualClock
  /** Faults of the streams, in the order in which they are opened. Later streams have none. */
  readonly faults?: readonly (Fault | readonly Fault[])[]
  /** Options of the client, such as `{ dialects: ['v0.3'], bindings: ['HTTP+JSON'] }`. */
  readonly connect?: ConnectOptions
  /**
   * Options of the handler, such as `{ turns: { cancelGrace: 50 } }`. If you pass a log, pass the clock to it as well:
   * `createSqliteLog({ file, clock })`.
   */
  readonly serve?: Partial<HandlerOptions>
}

/** The connection between a client and its agent. */
export interface Wire {
  readonly fetch: Handler['fetch']
  /** The requests so far, such as `POST /`, without those for the card. */
  readonly requests: readonly string[]
  /** Makes the next calls fail: the first fault applies to the next call, the second to the one after it. */
  fail(...faults: readonly CallFault[]): void
  /** Applies all these faults to the next stream. */
  spoil(...faults: readonly Fault[]): void
}

/** A client and its agent, connected without a socket. */
export interface Pair extends AsyncDisposable {
  readonly client: Client
  readonly wire: Wire
  /** Connects another client to the same agent, over the same wire. */
  connect(options?: ConnectOptions): Promise<Client>
  close(): Promise<void>
}

/**
 * Serves an agent in this process and connects a client to it, without a socket.
 *
 * @example
 * await using pair = await createPair(echo)
 * const reply = await pair.client.send('hello')
 */
export async function createPair(agent: Agent, options: PairOptions = {}): Promise<Pair> {
  checkOptions('createPair', options, {
    clock: clockCheck,
    faults: listOf(anything),
    connect: anObject,
    serve: anObject,
  })
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
  const open: Pair['connect'] = async (more = {}) =>
    withOptionChecks(await connect(wire, { ...options.connect, ...more, clock: time }))
  const close = async () => {
    const draining = handler.drain(0)
    await (clock ? clock.run(draining) : draining)
  }
  return { client: await open(), wire, connect: open, close, [Symbol.asyncDispose]: close }
}

interface WireOptions {
  readonly clock: Clock
  readonly faults: readonly (Fault | readonly Fault[])[]
}

function createWire({ fetch }: Pick<Handler, 'fetch'>, { clock, faults }: WireOptions): Wire {
  const requests: string[] = []
  const streamFaults = faults.map((each) => [each].flat())
  const callFaults: CallFault[] = []

  /** Breaks the call before or after it reaches the agent. */
  async function sendThrough(request: Request, fault: Fault | undefined): Promise<Response> {
    if (fault?.type === 'refuse') throw connectionFailure('ECONNREFUSED')
    const response = await fetch(request)
    if (fault?.type !== 'lose') return response
    await response.body?.cancel()
    throw connectionFailure('ECONNRESET')
  }

  return {
    requests,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname.startsWith('/.well-known/')) return await fetch(request)
      requests.push(`${request.method} ${pathname}`)
      const isStream = request.headers.get('accept')?.includes('text/event-stream') ?? false
      const next = isStream ? (streamFaults.shift() ?? []) : []
      const response = await sendThrough(request, callFaults.shift() ?? next.find(isCallFault))
      if (!isStream || !response.body || next.length === 0) return response
      return new Response(spoil(response.body, next, clock), response)
    },
    fail: (...more) => void callFaults.push(...more),
    spoil: (...more) => void streamFaults.push([...more]),
  }
}

function isCallFault({ type }: Fault): boolean {
  return type === 'refuse' || type === 'lose'
}
