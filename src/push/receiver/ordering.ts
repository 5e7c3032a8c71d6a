import type { DialectName } from '../../dialects/dialect.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { Refusal } from './refusal.ts'

export interface OrderOptions {
  /** Milliseconds for which a delivery waits for those before it. */
  readonly wait: number
  /** Deliveries of one task that may wait. */
  readonly perTask: number
  /** Tasks of which it is known what came last. */
  readonly tasks: number
}

/** Where a delivery stands among those of its task. */
export interface Place {
  readonly lane: string
  /** Undefined if the sender numbers nothing: then they are told as they come. */
  readonly generation?: number
  /** The one before it that the sender tells. By default the number before. */
  readonly previous?: number
}

/** What is between these two did not come; the second is the delivery that says so. */
export interface Missing {
  readonly after: number
  readonly before: number
}

/** Now it may be told. */
export interface Turn {
  readonly missing?: Missing
  readonly isLate?: boolean
  /** Lets the next one go. */
  done(isTold: boolean): void
}

export interface Order {
  /** One at a time per lane, by their numbers. Those before it are waited for, but not for long. */
  turn(place: Place, signal: AbortSignal): Promise<Turn>
  close(): void
}

export function createOrder({ wait, perTask, tasks }: OrderOptions): Order {
  /** Those of which nothing was heard for longest first. */
  const lanes = new Map<string, Lane>()

  function laneOf(name: string): Lane {
    const lane = lanes.get(name) ?? { last: undefined, isBusy: false, waiting: new Set() }
    lanes.delete(name)
    lanes.set(name, lane)
    for (const [each, { isBusy, waiting }] of lanes) {
      if (lanes.size <= tasks) break
      if (!isBusy && waiting.size === 0 && each !== name) lanes.delete(each)
    }
    return lane
  }

  function proceed(lane: Lane): void {
    if (lane.isBusy) return
    const next = nextOf(lane)
    if (!next) return
    lane.isBusy = true
    lane.waiting.delete(next)
    const { generation } = next.place
    next.go({
      ...standing(lane, next.place),
      done(isTold) {
        lane.isBusy = false
        if (isTold && generation !== undefined) lane.last = Math.max(lane.last ?? 0, generation)
        proceed(lane)
      },
    })
  }

  function turn(place: Place, signal: AbortSignal): Promise<Turn> {
    const lane = laneOf(place.lane)
    if (lane.waiting.size >= perTask) {
      return Promise.reject(new Refusal('busy', 'Too many deliveries of this task wait: try again later.'))
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        place,
        hasWaited: false,
        go(granted) {
          release()
          resolve(granted)
        },
        fail(refusal) {
          release()
          lane.waiting.delete(waiting)
          reject(refusal)
        },
      }
      const leave = () => waiting.fail(new Refusal('not-taken', 'The sender has gone.'))
      const timer = setTimeout(() => {
        const { generation = 0 } = place
        // Whatever comes before it goes before it.
        for (const each of lane.waiting) if ((each.place.generation ?? 0) <= generation) each.hasWaited = true
        proceed(lane)
      }, wait)
      function release(): void {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
      }
      signal.addEventListener('abort', leave)
      lane.waiting.add(waiting)
      if (signal.aborted) leave()
      else proceed(lane)
    })
  }

  return {
    turn,
    close() {
      for (const { waiting } of lanes.values()) {
        for (const each of waiting) each.fail(new Refusal('closed', 'This receiver is closing.'))
      }
      lanes.clear()
    },
  }
}

/** What an agent told this receiver. */
export interface PushDelivery {
  /** As a stream of the task would have it, whatever the agent speaks. */
  readonly event: StreamEvent
  /** Of the payload. */
  readonly dialect: DialectName
  /** Undefined only for a message that belongs to no task. */
  readonly taskId?: string
  /** The same for every attempt of one delivery. Agents that are not Parley's may tell none. */
  readonly deliveryId?: string
  /** The number of the event in its task. */
  readonly generation?: number
  readonly attempt?: number
  /** Of W3C Trace Context. */
  readonly traceparent?: string
  readonly tracestate?: string
  /** By which `register()` it came; undefined for tokens of your own and for deliveries that are only signed. */
  readonly registration?: string
  /** Who signed it. */
  readonly issuer?: string
  /** Events between these numbers did not come in time: ask for the task, if they matter. */
  readonly missing?: Missing
  /** Events that follow it were told before, since it was held up for too long. */
  readonly isLate?: boolean
}

interface Lane {
  /** Undefined if nothing was told. */
  last: number | undefined
  isBusy: boolean
  readonly waiting: Set<Waiting>
}

interface Waiting {
  readonly place: Place
  hasWaited: boolean
  go(turn: Turn): void
  fail(refusal: Refusal): void
}

/** The lowest number that has nothing to wait for. */
function nextOf({ last = 0, waiting }: Lane): Waiting | undefined {
  let next: Waiting | undefined
  for (const each of waiting) {
    const { generation = 0 } = each.place
    const isReady = each.hasWaited || generation <= last || previousOf(each.place) <= last
    if (isReady && (!next || generation < (next.place.generation ?? 0))) next = each
  }
  return next
}

function previousOf({ generation = 0, previous = generation - 1 }: Place): number {
  return previous
}

function standing({ last }: Lane, place: Place): Omit<Turn, 'done'> {
  const { generation } = place
  if (generation === undefined || last === undefined) return {}
  if (generation <= last) return { isLate: true }
  return previousOf(place) > last ? { missing: { after: last, before: generation } } : {}
}
