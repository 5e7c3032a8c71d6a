import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { TaskState } from '../protocol/model.ts'
import { isEnded } from '../protocol/states.ts'
import { createSeen } from './seen.ts'

/** Where a reader of a task is, across all the streams in which it is told. */
export interface Cursor {
  readonly taskId: string | undefined
  /** The number of the last event, if the agent numbers them. */
  readonly generation: number | undefined
  /** How many events have been told. */
  readonly told: number
  /** Whether a stream that ends here has said all; `broke` if it did not end but broke. */
  isAtRest(broke: boolean): boolean
  /**
   * What comes now is from another source: the next events, if the agent heeds the number it was given; or the task
   * as it is and then the next events; or looks at the task.
   */
  reopen(from: 'next' | 'snapshot' | 'looks'): void
  /** What of the event is to be told. Each is told once, in its order. */
  take(event: StreamEvent): readonly StreamEvent[]
}

/**
 * The first number that a stream tells of a task is at least this one, since the message that began it is the first
 * event. Agents that number the events of each stream by themselves begin lower, and their numbers say nothing.
 */
const firstNumber = 2

/** How the events of a stream follow those of the one before. */
type Mode = 'exact' | 'unsure' | 'difference'

/** As many numbers are remembered, to tell a repetition from disorder. */
const remembered = 1_000

export interface CursorOptions {
  readonly taskId?: string
  /** It cannot be known whether something is missing. */
  readonly onGap: () => void
}

export function createCursor({ taskId: given, onGap }: CursorOptions): Cursor {
  const seen = createSeen()
  const numbers = new Set<number>()
  let taskId = given
  let generation: number | undefined
  let state: TaskState | undefined
  let hasMoved = false
  let told = 0
  let mode: Mode = 'exact'
  let isNumbered: boolean | undefined
  /** The agent says where numbers are left out: every other hole is a loss. */
  let isCounted = false

  /** The number of an event, if numbers can be relied on. */
  function numberOf(event: StreamEvent): number {
    const number = givenNumber(event)
    if (number > 0) isNumbered ??= number >= firstNumber
    return isNumbered ? number : 0
  }

  function isRepeated(number: number): boolean {
    if (number === 0 || generation === undefined || number > generation) return false
    if (numbers.has(number) || numbers.size >= remembered) return true
    throw new A2AError('invalid-agent-response', `Event ${number} came after event ${generation}.`, {
      reason: 'out-of-order',
    })
  }

  /** What did not come is asked for again, before what came is told. */
  function requireNext(event: StreamEvent): void {
    const number = numberOf(event)
    if (!isCounted || event.type === 'task' || generation === undefined || number <= generation + 1) return
    if (event.follows === generation) return
    const problem = `Event ${number} came after event ${generation}: what is between is asked for.`
    throw new A2AError('unavailable', problem, { reason: 'events-lost' })
  }

  function note(event: StreamEvent): void {
    const number = numberOf(event)
    if (number > 0) {
      generation = Math.max(number, generation ?? 0)
      numbers.add(number)
      const [oldest] = numbers
      if (numbers.size > remembered && oldest !== undefined) numbers.delete(oldest)
    }
    seen.record(event)
    if (event.type === 'task') taskId = event.task.id
    if (event.type === 'status' || event.type === 'artifact') taskId = event.taskId
    if (event.type === 'status') hasMoved = true
    if (event.type === 'task') state = event.task.status.state
    if (event.type === 'status') state = event.status.state
  }

  /** The first event of a stream that was asked to go on after another shows whether it does. */
  function decide(event: StreamEvent): Mode {
    if (event.type === 'task' && numberOf(event) < (generation ?? 0)) {
      // It counts from the start: so it has counted something else all the time.
      isNumbered = false
      generation = undefined
    }
    return event.type !== 'task' && numberOf(event) > 0 ? 'exact' : 'difference'
  }

  return {
    get taskId() {
      return taskId
    },
    get generation() {
      return generation
    },
    get told() {
      return told
    },
    isAtRest(broke) {
      if (state === undefined) return false
      if (isEnded(state)) return true
      return broke ? state === 'input-required' && hasMoved : state === 'input-required' || state === 'auth-required'
    },
    reopen(from) {
      mode = from === 'next' ? 'unsure' : 'difference'
      // Who only looks knows that something may happen between two looks.
      if (from === 'snapshot') onGap()
    },
    take(event) {
      const news = newsIn(event)
      told += news.length
      return news
    },
  }

  function newsIn(event: StreamEvent): readonly StreamEvent[] {
    if (event.type === 'message') return [event]
    if (mode === 'unsure') {
      mode = decide(event)
      const isNothingMissing = event.type === 'task' && numberOf(event) > 0 && numberOf(event) === generation
      if (mode === 'difference' && !isNothingMissing) onGap()
    }
    if (event.follows !== undefined) isCounted = true
    if (mode === 'exact') {
      if (isRepeated(numberOf(event))) return []
      requireNext(event)
      note(event)
      return [event]
    }
    // The task as it is has what led to it.
    if (event.type !== 'task' && numberOf(event) > 0 && numberOf(event) <= (generation ?? 0)) return []
    const news = event.type === 'task' ? seen.missingOf(event.task) : [seen.newsOf(event)]
    note(event)
    return news.filter((each) => each !== undefined)
  }
}

function givenNumber(event: StreamEvent): number {
  switch (event.type) {
    case 'message':
      return 0
    case 'task':
      return event.task.generation
    case 'status':
    case 'artifact':
      return event.generation
  }
}
