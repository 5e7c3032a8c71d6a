import type { DialectName } from '../../dialects/versions.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { DeliveryRefusal } from './refusal.ts'

export interface OrderOptions {
  /** How long a delivery waits for earlier ones, in milliseconds. */
  readonly wait: number
  /** Maximum number of waiting deliveries per task. */
  readonly perTask: number
  /** Number of tasks whose last generation is remembered. */
  readonly tasks: number
}

/** The position of a delivery in the order of its task. */
export interface DeliveryPosition {
  /** Identifies the task and its sender. */
  readonly queue: string
  /** Undefined if the sender does not number its events: they are then handled in the order of arrival. */
  readonly generation?: number
  /** The generation that the sender delivered before this one. Defaults to the preceding number. */
  readonly previous?: number
}

/** Events between these generations did not arrive; `before` is the delivery that revealed the gap. */
export interface Missing {
  readonly after: number
  readonly before: number
}

/** Permission to handle a delivery now. */
export interface OrderGrant {
  readonly missing?: Missing
  readonly isLate?: boolean
  /** Lets the next delivery of the task proceed. */
  release(isHandled: boolean): void
}

/** Restores the order of deliveries: per task one at a time, by generation. */
export interface DeliveryOrder {
  /** Waits for earlier deliveries of the task, but at most as long as the options allow. */
  acquire(position: DeliveryPosition, signal: AbortSignal): Promise<OrderGrant>
  close(): void
}

export function createDeliveryOrder({ wait, perTask, tasks }: OrderOptions): DeliveryOrder {
  /** The least recently used first. */
  const queues = new Map<string, TaskQueue>()

  function queueOf(name: string): TaskQueue {
    const queue = queues.get(name) ?? { lastGeneration: undefined, isBusy: false, waiting: new Set() }
    queues.delete(name)
    queues.set(name, queue)
    for (const [oldest, { isBusy, waiting }] of queues) {
      if (queues.size <= tasks) break
      if (!isBusy && waiting.size === 0 && oldest !== name) queues.delete(oldest)
    }
    return queue
  }

  function grantNext(queue: TaskQueue): void {
    if (queue.isBusy) return
    const next = nextOf(queue)
    if (!next) return
    queue.isBusy = true
    queue.waiting.delete(next)
    const { generation } = next.position
    next.grant({
      ...gapBefore(queue, next.position),
      release(isHandled) {
        queue.isBusy = false
        if (isHandled && generation !== undefined) {
          queue.lastGeneration = Math.max(queue.lastGeneration ?? 0, generation)
        }
        grantNext(queue)
      },
    })
  }

  function acquire(position: DeliveryPosition, signal: AbortSignal): Promise<OrderGrant> {
    const queue = queueOf(position.queue)
    if (queue.waiting.size >= perTask) {
      return Promise.reject(
        new DeliveryRefusal('busy', 'Too many deliveries of this task are waiting: try again later.'),
      )
    }
    return new Promise((resolve, reject) => {
      const delivery: WaitingDelivery = {
        position,
        hasWaited: false,
        grant(granted) {
          cleanUp()
          resolve(granted)
        },
        fail(refusal) {
          cleanUp()
          queue.waiting.delete(delivery)
          reject(refusal)
        },
      }
      const cancel = () => delivery.fail(new DeliveryRefusal('not-taken', 'The sender closed the connection.'))
      const timer = setTimeout(() => {
        const { generation = 0 } = position
        // Earlier deliveries that wait as well go first, so their wait is over as well.
        for (const other of queue.waiting) if ((other.position.generation ?? 0) <= generation) other.hasWaited = true
        grantNext(queue)
      }, wait)
      function cleanUp(): void {
        clearTimeout(timer)
        signal.removeEventListener('abort', cancel)
      }
      signal.addEventListener('abort', cancel)
      queue.waiting.add(delivery)
      if (signal.aborted) cancel()
      else grantNext(queue)
    })
  }

  return {
    acquire,
    close() {
      for (const { waiting } of queues.values()) {
        for (const delivery of waiting) delivery.fail(new DeliveryRefusal('closed', 'This receiver is closing.'))
      }
      queues.clear()
    },
  }
}

/** An event that an agent delivered to this receiver. */
export interface PushDelivery {
  /** The event as a stream of the task would yield it, in any protocol version. */
  readonly event: StreamEvent
  /** The dialect of the payload. */
  readonly dialect: DialectName
  /** Undefined only for a message that belongs to no task. */
  readonly taskId?: string
  /** The same for every attempt of one delivery. Agents other than Parley may send none. */
  readonly deliveryId?: string
  /** The number of the event in its task. */
  readonly generation?: number
  readonly attempt?: number
  /** W3C Trace Context. */
  readonly traceparent?: string
  readonly tracestate?: string
  /** Identifies the `register()` call whose token the delivery carries. Undefined for `tokens` and signed deliveries. */
  readonly registration?: string
  /** The issuer of the signature. */
  readonly issuer?: string
  /** Events between these generations did not arrive in time: fetch the task if they matter. */
  readonly missing?: Missing
  /** Later events were handled before this one, because it arrived too late. */
  readonly isLate?: boolean
}

interface TaskQueue {
  /** The highest generation handled so far; undefined if there is none. */
  lastGeneration: number | undefined
  isBusy: boolean
  readonly waiting: Set<WaitingDelivery>
}

interface WaitingDelivery {
  readonly position: DeliveryPosition
  /** Whether the time to wait for earlier deliveries is over. */
  hasWaited: boolean
  grant(granted: OrderGrant): void
  fail(refusal: DeliveryRefusal): void
}

/** The waiting delivery with the lowest generation that has nothing to wait for. */
function nextOf({ lastGeneration = 0, waiting }: TaskQueue): WaitingDelivery | undefined {
  let next: WaitingDelivery | undefined
  for (const delivery of waiting) {
    const { position, hasWaited } = delivery
    const { generation = 0 } = position
    const isReady = hasWaited || generation <= lastGeneration || previousOf(position) <= lastGeneration
    if (isReady && (!next || generation < (next.position.generation ?? 0))) next = delivery
  }
  return next
}

function previousOf({ generation = 0, previous = generation - 1 }: DeliveryPosition): number {
  return previous
}

function gapBefore({ lastGeneration }: TaskQueue, position: DeliveryPosition): Omit<OrderGrant, 'release'> {
  const { generation } = position
  if (generation === undefined || lastGeneration === undefined) return {}
  if (generation <= lastGeneration) return { isLate: true }
  return previousOf(position) > lastGeneration ? { missing: { after: lastGeneration, before: generation } } : {}
}
