import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { TaskState } from '../../protocol/model.ts'
import { isEnded } from '../../protocol/states.ts'
import { createFingerprint, createTaskDiff, recordEvent, type TaskFingerprint } from './task-diff.ts'

/**
 * The lowest first number of a stream whose numbers count the events of its task: the message that starts a task is its
 * first event, and is not streamed. An agent that numbers the events of each stream starts lower; its numbers are useless.
 */
const firstNumber = 2

/** How many numbers are remembered to distinguish repetition from disorder. */
const maxNumbers = 1_000

/** The position of a reader in the events of a task, across all its streams. */
export interface StreamPosition {
  taskId?: string
  /** The number of the last event, if the agent numbers its events. */
  generation?: number
  state?: TaskState
  hasStatusEvent: boolean
  /** How many events the reader has received. */
  emitted: number
  isNumbered?: boolean
  /** Whether the agent marks the numbers that it leaves out, so that any other gap is a loss. */
  isGapless: boolean
  readonly numbers: Set<number>
  readonly fingerprint: TaskFingerprint
}

export function createPosition(taskId?: string): StreamPosition {
  const position = {
    hasStatusEvent: false,
    emitted: 0,
    isGapless: false,
    numbers: new Set<number>(),
    fingerprint: createFingerprint(),
  }
  return taskId === undefined ? position : { ...position, taskId }
}

/** Whether a stream that ends here is complete; `isBroken` if it broke instead of ending. */
export function isSettled({ state, hasStatusEvent }: StreamPosition, isBroken: boolean): boolean {
  if (state === undefined) return false
  if (isEnded(state)) return true
  if (isBroken) return state === 'input-required' && hasStatusEvent
  return state === 'input-required' || state === 'auth-required'
}

/** Drops what the reader has seen from the streams that follow a broken one. */
export interface StreamCursor {
  /**
   * Announces another source of events: a stream that should continue after the last number; a stream that begins with
   * the task as it is; or polls of the task.
   */
  reopen(source: 'next' | 'snapshot' | 'polling'): void
  /** Returns the new events in an event. Each is returned once, in order. */
  take(event: StreamEvent): readonly StreamEvent[]
}

/** `onGap` is called where events may be missing. */
export function createStreamCursor(position: StreamPosition, onGap: () => void): StreamCursor {
  const diff = createTaskDiff(position.fingerprint)
  let mode: Mode = 'exact'

  /** The first event shows whether a stream continues after the last number, as requested. */
  function decideMode(event: StreamEvent): Mode {
    if (event.type === 'task' && numberOf(position, event) < (position.generation ?? 0)) {
      // The numbers start anew, so they never counted the events of the task.
      position.isNumbered = false
      delete position.generation
    }
    return event.type !== 'task' && numberOf(position, event) > 0 ? 'exact' : 'difference'
  }

  function newEventsIn(event: StreamEvent): readonly StreamEvent[] {
    if (event.type === 'message') return [event]
    if (mode === 'undecided') {
      mode = decideMode(event)
      const number = numberOf(position, event)
      const isComplete = event.type === 'task' && number > 0 && number === position.generation
      if (mode === 'difference' && !isComplete) onGap()
    }
    if (mode === 'exact') return isNext(position, event) ? [event] : []
    if (event.follows !== undefined) position.isGapless = true
    const number = numberOf(position, event)
    // A snapshot of the task already contains the events up to its number.
    if (event.type !== 'task' && number > 0 && number <= (position.generation ?? 0)) return []
    const changes = event.type === 'task' ? diff.missingEvents(event.task) : [diff.changeIn(event)]
    record(position, event)
    return changes.filter((change) => change !== undefined)
  }

  return {
    reopen(source) {
      mode = source === 'next' ? 'undecided' : 'difference'
      // Polling reports its own notice; changes between two polls are expected to be missing.
      if (source === 'snapshot') onGap()
    },
    take(event) {
      const events = newEventsIn(event)
      position.emitted += events.length
      return events
    },
  }
}

/** How the events of a stream relate to those of the previous one. */
type Mode = 'exact' | 'undecided' | 'difference'

/** Whether an event of a continuous stream is new, and if so, records it. Throws if an event is missing or out of order. */
export function isNext(position: StreamPosition, event: StreamEvent): boolean {
  if (event.type === 'message') return true
  if (event.follows !== undefined) position.isGapless = true
  const number = numberOf(position, event)
  if (isRepeated(position, number)) return false
  requireNoGap(position, event, number)
  record(position, event)
  return true
}

/** The number of an event; 0 if it has none, or if the numbers are useless. */
function numberOf(position: StreamPosition, event: StreamEvent): number {
  if (event.type === 'message') return 0
  const { generation } = event.type === 'task' ? event.task : event
  if (generation > 0) position.isNumbered ??= generation >= firstNumber
  return position.isNumbered ? generation : 0
}

function isRepeated({ generation, numbers }: StreamPosition, number: number): boolean {
  if (number === 0 || generation === undefined || number > generation) return false
  if (numbers.has(number) || numbers.size >= maxNumbers) return true
  throw new A2AError('invalid-agent-response', `Event ${number} came after event ${generation}.`, {
    reason: 'out-of-order',
  })
}

/** Lost events are requested again before a later one is emitted. */
function requireNoGap({ generation, isGapless }: StreamPosition, { type, follows }: StreamEvent, number: number): void {
  if (!isGapless || type === 'task' || generation === undefined || number <= generation + 1) return
  if (follows === generation) return
  const problem = `Event ${number} came after event ${generation}: the events between them are requested again.`
  throw new A2AError('unavailable', problem, { reason: 'events-lost' })
}

function record(position: StreamPosition, event: StreamEvent): void {
  const { numbers } = position
  const number = numberOf(position, event)
  if (number > 0) {
    position.generation = Math.max(number, position.generation ?? 0)
    numbers.add(number)
    const [oldest] = numbers
    if (numbers.size > maxNumbers && oldest !== undefined) numbers.delete(oldest)
  }
  recordEvent(position.fingerprint, event)
  if (event.type === 'message') return
  position.taskId = event.type === 'task' ? event.task.id : event.taskId
  if (event.type === 'artifact') return
  position.state = (event.type === 'task' ? event.task : event).status.state
  if (event.type === 'status') position.hasStatusEvent = true
}
