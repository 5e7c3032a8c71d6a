import type { Logger } from '../core/base/logger.ts'
import { isTransient, isUnsent } from '../core/client/resilience/retry.ts'
import { A2AError } from '../core/protocol/errors.ts'
import type { StreamEvent } from '../core/protocol/events.ts'
import { callStream, callUnary, createService } from '../core/protocol/intercept.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  SendRequest,
  Service,
  UnaryOperation,
} from '../core/protocol/service.ts'
import type { OwnershipStore } from '../core/tasks/ownership.ts'

/** Failures in a row after which an address gets no calls for a while. */
const failuresToOpen = 5

/** Milliseconds before one call tries an address again, at first and at most. */
const firstPause = 2_000
const longestPause = 30_000

/** Tasks whose addresses are remembered in this process. */
const maxRemembered = 10_000

/** An address of an agent, as far as calls are concerned. */
export interface CallableAddress {
  readonly url: string
  /** Undefined until its card was found. */
  service(): Service | undefined
  /** Why its last check failed. */
  failure(): string | undefined
}

/** The state of an address, for operators. */
export interface AddressState {
  readonly url: string
  /** `paused`: too many calls failed in a row, so it gets none for a while. */
  readonly state: 'up' | 'down' | 'paused'
  /** Calls and streams of this process that are open. */
  readonly open: number
  readonly failure: string | undefined
}

export interface BalancedService {
  readonly service: Service
  states(): readonly AddressState[]
}

export interface BalanceOptions {
  readonly name: string
  readonly addresses: readonly CallableAddress[]
  /** Calls that may be open at once. */
  readonly concurrency: number
  /** Where the addresses of tasks are stored, if there are several. */
  readonly ownership: OwnershipStore
  readonly logger: Logger
  readonly now?: () => number
}

/**
 * One service of all addresses of an agent. New work goes to the address with the fewest open calls, follow-ups to where
 * their task lives. An address that fails too often gets no calls for a while, so that callers of a hanging agent do not
 * wait, and calls beyond a limit are rejected, so that one agent cannot use up the gateway.
 */
export function balance(options: BalanceOptions): BalancedService {
  const { name, concurrency, logger, ownership, now = () => performance.now() } = options
  const addresses = options.addresses.map((address) => ({ address, breaker: createBreaker(now), open: 0 }))
  type Tracked = (typeof addresses)[number]
  const homes = new Map<string, string>()
  let turn = 0

  function choose(tried: ReadonlySet<Tracked>): Tracked | undefined {
    turn++
    const usable = addresses
      .map((_, index) => addresses[(index + turn) % addresses.length] as Tracked)
      .filter((each) => !tried.has(each) && each.address.service() && each.breaker.admits())
    const healthy = usable.filter(({ address }) => address.failure() === undefined)
    return (healthy.length > 0 ? healthy : usable).toSorted((one, other) => one.open - other.open)[0]
  }

  /** The address at which the task or the context of a request is. Undefined for new work. */
  async function homeOf(request: object): Promise<Tracked | undefined> {
    if (addresses.length === 1) return undefined
    const { taskId, message } = request as { readonly taskId?: string; readonly message?: SendRequest['message'] }
    const key = taskId ?? message?.taskId ?? (message?.contextId && contextKey(message.contextId))
    if (!key) return undefined
    const url = homes.get(key) ?? (await ownership.find({ agent: name, kind: 'address', id: key }))?.remoteId
    return addresses.find(({ address }) => address.url === url)
  }

  /** Stores where a task is before its id is revealed. */
  async function remember({ address: { url } }: Tracked, taskId: string, contextId: string): Promise<void> {
    if (addresses.length === 1 || homes.has(taskId)) return
    for (const id of contextId === '' ? [taskId] : [taskId, contextKey(contextId)]) {
      const stored = await ownership.claim({ agent: name, kind: 'address', id, owner: '', remoteId: url })
      homes.set(id, stored.remoteId)
      const [oldest] = homes.keys()
      if (homes.size > maxRemembered && oldest !== undefined) homes.delete(oldest)
    }
  }

  function admit(tracked: Tracked | undefined): { readonly tracked: Tracked; readonly service: Service } {
    const service = tracked?.breaker.admits() ? tracked.address.service() : undefined
    if (!tracked || !service) throw unavailable(name, 5, 'upstream-unavailable')
    if (addresses.reduce((sum, { open }) => sum + open, 0) >= concurrency) throw unavailable(name, 1, 'upstream-busy')
    tracked.open++
    tracked.breaker.begin()
    return { tracked, service }
  }

  function settle(tracked: Tracked, { signal }: Call, error?: unknown): void {
    tracked.open--
    const isFailure = error instanceof A2AError && isFault(error) && !isAbort(signal)
    const change = tracked.breaker.end(isFailure)
    const fields = { agent: name, url: tracked.address.url }
    if (change === 'opened') logger.warn(fields, 'an address of an agent gets no calls for a while')
    if (change === 'closed') logger.info(fields, 'an address of an agent gets calls again')
  }

  /** Whether another address may get the call: this one has not begun to work on it, or nothing changes by it. */
  function mayMove(operation: Operation, error: unknown): boolean {
    if (!(error instanceof A2AError)) return false
    const isRead = operation === 'listTasks' || operation === 'getExtendedCard'
    return isUnsent(error) || (isRead && isTransient(error))
  }

  return {
    service: createService({
      async unary<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
        const home = await homeOf(request)
        for (const tried = new Set<Tracked>(); ; ) {
          const { tracked, service } = admit(home ?? choose(tried))
          try {
            const result = await callUnary(service, operation, request, call)
            settle(tracked, call)
            const task = taskIn(result)
            if (task) await remember(tracked, task.id, task.contextId)
            return result
          } catch (error) {
            settle(tracked, call, error)
            tried.add(tracked)
            if (home || tried.size === addresses.length || !mayMove(operation, error) || !choose(tried)) throw error
          }
        }
      },
      async *stream(operation, request, call) {
        const home = await homeOf(request)
        for (const tried = new Set<Tracked>(); ; ) {
          const { tracked, service } = admit(home ?? choose(tried))
          let hasBegun = false
          let failure: unknown
          try {
            for await (const event of callStream(service, operation, request, call)) {
              if (!hasBegun) await rememberEvent(tracked, event)
              hasBegun = true
              yield event
            }
            return
          } catch (error) {
            failure = error
            tried.add(tracked)
            const isLast = home || hasBegun || tried.size === addresses.length
            if (isLast || !mayMove(operation, error) || !choose(tried)) throw error
          } finally {
            settle(tracked, call, failure)
          }
        }
      },
    }),
    states: () =>
      addresses.map(({ address, breaker, open }) => {
        const isUp = address.service() !== undefined && address.failure() === undefined
        const state = breaker.isOpen() ? 'paused' : isUp ? 'up' : 'down'
        return { url: address.url, state, open, failure: address.failure() }
      }),
  }

  async function rememberEvent(tracked: Tracked, event: StreamEvent): Promise<void> {
    if (event.type === 'message') return
    const { id, contextId } = event.type === 'task' ? event.task : { id: event.taskId, contextId: event.contextId }
    await remember(tracked, id, contextId)
  }
}

/** Whether an agent, or the way to it, is at fault. */
function isFault({ code, status = 0 }: A2AError): boolean {
  return code === 'unavailable' || code === 'timeout' || code === 'invalid-agent-response' || status >= 500
}

/** Counts failures in a row. After too many, one call at a time tries whether the address works again. */
function createBreaker(now: () => number) {
  let failures = 0
  let pausedUntil = 0
  let isTrying = false
  const isOpen = () => failures >= failuresToOpen
  return {
    isOpen,
    admits: () => !isOpen() || (now() >= pausedUntil && !isTrying),
    begin() {
      if (isOpen()) isTrying = true
    },
    end(isFailure: boolean): 'opened' | 'closed' | undefined {
      const wasOpen = isOpen()
      isTrying = false
      failures = isFailure ? failures + 1 : 0
      if (!isOpen()) return wasOpen ? 'closed' : undefined
      pausedUntil = now() + Math.min(longestPause, firstPause * 2 ** (failures - failuresToOpen))
      return wasOpen ? undefined : 'opened'
    },
  }
}

/** A caller that left says nothing about the agent; a time limit of the gateway does. */
function isAbort({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof A2AError)
}

function taskIn(result: unknown): { readonly id: string; readonly contextId: string } | undefined {
  const { type, task } = (result ?? {}) as { readonly type?: string; readonly task?: { id: string; contextId: string } }
  return type === 'task' ? task : undefined
}

const contextKey = (contextId: string) => `context ${contextId}`

function unavailable(name: string, retryAfter: number, reason: string): A2AError {
  const text = `The agent ${name} cannot be reached at the moment: try again in ${retryAfter} seconds.`
  return new A2AError('unavailable', text, { retryAfter, metadata: { reason } })
}
