import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { TaskState } from '../../protocol/model.ts'
import { isEnded } from '../../protocol/states.ts'
import { createMarks, createSeen, mark, type TaskFingerprint } from './task-diff.ts'

/**
 * The first number that a stream tells of a task is at least this one, since the message that began it is the first
 * event. Agents that number the events of each stream by themselves begin lower, and their numbers say nothing.
 */
const firstNumber = 2

/** As many numbers are remembered, to tell a repetition from disorder. */
const remembered = 1_000

/** Where a reader of a task is, across all the streams in which it is told. */
export interface StreamPosition {
  taskId?: string
  /** The number of the last event, if the agent numbers them. */
  generation?: number
  state?: TaskState
  hasMoved: boolean
  /** How many events have been told. */
  told: number
  isNumbered?: boolean
  /** The agent says where numbers are left out: every other hole is a loss. */
  isCounted: boolean
  readonly numbers: Set<number>
  readonly marks: TaskFingerprint
}

export function createPosition(taskId?: string): StreamPosition {
  const position = { hasMoved: false, told: 0, isCounted: false, numbers: new Set<number>(), marks: createMarks() }
  return taskId === undefined ? position : { ...position, taskId }
}

/** Whether a stream that ends here has said all; `broke` if it did not end but broke. */
export function isAtRest({ state, hasMoved }: StreamPosition, broke: boolean): boolean {
  if (state === undefined) return false
  if (isEnded(state)) return true
  return broke ? state === 'input-required' && hasMoved : state === 'input-required' || state === 'auth-required'
}

/** A reader whose stream broke, and who reads on in others. */
export interface StreamCursor {
  /**
   * What comes now is from another source: the next events, if the agent heeds the number it was given; or the task
   * as it is and then the next events; or looks at the task.
   */
  reopen(from: 'next' | 'snapshot' | 'looks'): void
  /** What of the event is to be told. Each is told once, in its order. */
  take(event: StreamEvent): readonly StreamEvent[]
}

/** `onGap`: it cannot be known whether something is missing. */
export function createCursor(position: StreamPosition, onGap: () => void): StreamCursor {
  const seen = createSeen(position.marks)
  let mode: Mode = 'exact'

  /** The first event of a stream that was asked to go on after another shows whether it does. */
  function decide(event: StreamEvent): Mode {
    if (event.type === 'task' && numberOf(position, event) < (position.generation ?? 0)) {
      // It counts from the start: so it has counted something else all the time.
      position.isNumbered = false
      delete position.generation
    }
    return event.type !== 'task' && numberOf(position, event) > 0 ? 'exact' : 'difference'
  }

  function newsIn(event: StreamEvent): readonly StreamEvent[] {
    if (event.type === 'message') return [event]
    if (mode === 'unsure') {
      mode = decide(event)
      const number = numberOf(position, event)
      const isNothingMissing = event.type === 'task' && number > 0 && number === position.generation
      if (mode === 'difference' && !isNothingMissing) onGap()
    }
    if (mode === 'exact') return isNext(position, event) ? [event] : []
    if (event.follows !== undefined) position.isCounted = true
    const number = numberOf(position, event)
    // The task as it is has what led to it.
    if (event.type !== 'task' && number > 0 && number <= (position.generation ?? 0)) return []
    const news = event.type === 'task' ? seen.missingEvents(event.task) : [seen.changeIn(event)]
    note(position, event)
    return news.filter((each) => each !== undefined)
  }

  return {
    reopen(from) {
      mode = from === 'next' ? 'unsure' : 'difference'
      // Who only looks knows that something may happen between two looks.
      if (from === 'snapshot') onGap()
    },
    take(event) {
      const news = newsIn(event)
      position.told += news.length
      return news
    },
  }
}

/** Whether the event, which should be the next one, is news. Each is told once, in its order. */
export function isNext(position: StreamPosition, event: StreamEvent): boolean {
  if (event.type === 'message') return true
  if (event.follows !== undefined) position.isCounted = true
  const number = numberOf(position, event)
  if (isRepeated(position, number)) return false
  requireNext(position, event, number)
  note(position, event)
  return true
}

/** The number of an event, if numbers can be relied on. */
function numberOf(position: StreamPosition, event: StreamEvent): number {
  if (event.type === 'message') return 0
  const { generation } = event.type === 'task' ? event.task : event
  if (generation > 0) position.isNumbered ??= generation >= firstNumber
  return position.isNumbered ? generation : 0
}

function isRepeated({ generation, numbers }: StreamPosition, number: number): boolean {
  if (number === 0 || generation === undefined || number > generation) return false
  if (numbers.has(number) || numbers.size >= remembered) return true
  throw new A2AError('invalid-agent-response', `Event ${number} came after event ${generation}.`, {
    reason: 'out-of-order',
  })
}

/** What did not come is asked for again, before what came is told. */
function requireNext({ generation, isCounted }: StreamPosition, { type, follows }: StreamEvent, number: number): void {
  if (!isCounted || type === 'task' || generation === undefined || number <= generation + 1) return
  if (follows === generation) return
  const problem = `Event ${number} came after event ${generation}: what is between is asked for.`
  throw new A2AError('unavailable', problem, { reason: 'events-lost' })
}

function note(position: StreamPosition, event: StreamEvent): void {
  const { numbers } = position
  const number = numberOf(position, event)
  if (number > 0) {
    position.generation = Math.max(number, position.generation ?? 0)
    numbers.add(number)
    const [oldest] = numbers
    if (numbers.size > remembered && oldest !== undefined) numbers.delete(oldest)
  }
  mark(position.marks, event)
  if (event.type === 'message') return
  position.taskId = event.type === 'task' ? event.task.id : event.taskId
  if (event.type === 'artifact') return
  position.state = (event.type === 'task' ? event.task : event).status.state
  if (event.type === 'status') position.hasMoved = true
}

/** How the events of a stream follow those of the one before. */
type Mode = 'exact' | 'unsure' | 'difference'
