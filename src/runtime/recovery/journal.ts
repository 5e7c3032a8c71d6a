import type {
  ArtifactEvent,
  JournalEntry,
  PausedEntry,
  StatusEvent,
  StepEntry,
  StoredEvent,
} from '../../protocol/events.ts'
import type { Mutable } from '../../tasks/fold.ts'
import type { TaskLog } from '../../tasks/log.ts'
import type { QueuedMessage } from '../turns/message-queue.ts'

export interface Stored<T> {
  readonly generation: number
  readonly value: T
}

export type OutputEvent = StatusEvent | ArtifactEvent

/** What the log says of the turn that a task is in: enough to go on with it in another process. */
export interface Journal {
  /** The message that it answers; if the last turn is over, the next one that nobody has answered. */
  readonly message: QueuedMessage | undefined
  /** The messages after it. */
  readonly queued: readonly QueuedMessage[]
  /** How many attempts to answer it were begun. */
  readonly attempt: number
  /** How many of them ended with their process; and how many since something new was stored. */
  readonly crashes: number
  readonly crashesSinceProgress: number
  readonly isHandedOver: boolean
  readonly isCanceled: boolean
  /** It waits for an answer, and none has come. */
  readonly pause: PausedEntry | undefined
  /** Which of its questions, the first one is 1, were not answered in time. */
  readonly unanswered: ReadonlySet<number>
  /** What the agent has said in this turn. */
  readonly output: readonly Stored<OutputEvent>[]
  /** By `stepKey`. */
  readonly steps: ReadonlyMap<string, Stored<StepEntry>>
}

/** Reads up to a generation; undefined if the task was begun without a journal. */
export async function readJournal(
  log: Pick<TaskLog, 'read'>,
  taskId: string,
  until: number,
): Promise<Journal | undefined> {
  const reader = createReader()
  for (let after = 0; after < until; ) {
    const page = await log.read(taskId, after)
    const last = page.at(-1)
    if (!last) break
    for (const stored of page) if (stored.generation <= until) reader.read(stored)
    after = last.generation
  }
  return reader.journal()
}

/** A step is known by its name, and one that is called again by which call of that name it is. */
export function stepKey({ step, call }: Pick<StepEntry, 'step' | 'call'>): string {
  return `${call} ${step}`
}

function createReader() {
  const letters: QueuedMessage[] = []
  let turn: OpenTurn = newTurn(0)
  /** The last message that was answered, once the turn is over. */
  let answered: number | undefined
  let isCanceled = false
  let isKept = false

  function enter(entry: JournalEntry, generation: number): void {
    switch (entry.type) {
      case 'attempt':
        if (answered !== undefined || turn.message !== entry.message) turn = newTurn(entry.message)
        else if (!turn.isHandedOver) {
          turn.crashes++
          turn.crashesSinceProgress++
        }
        isKept = true
        answered = undefined
        turn.attempt = entry.attempt
        turn.isHandedOver = false
        return
      case 'handed-over':
        turn.isHandedOver = true
        return
      case 'rested':
        answered = entry.answered
        return
      case 'paused':
        turn.pause = entry
        return
      case 'unanswered':
        turn.pause = undefined
        turn.crashesSinceProgress = 0
        turn.unanswered.add(entry.question)
        return
      case 'step':
        turn.crashesSinceProgress = 0
        turn.steps.set(stepKey(entry), { generation, value: entry })
    }
  }

  return {
    read({ generation, event }: StoredEvent): void {
      switch (event.type) {
        case 'message':
          letters.push({ event, generation })
          return
        case 'cancel':
          isCanceled = true
          return
        case 'status':
        case 'artifact':
          if (event.type === 'status' && event.implied) return
          turn.crashesSinceProgress = 0
          // What a step says, its result stands for.
          if (event.step === undefined) turn.output.push({ generation, value: event })
          return
        case 'journal':
          enter(event.entry, generation)
          return
        case 'reply':
          return
      }
    },
    journal(): Journal | undefined {
      if (!isKept) return undefined
      const from = answered === undefined ? turn.message : answered + 1
      const [message, ...queued] = letters.filter(({ generation }) => generation >= from)
      const at = answered === undefined ? turn : newTurn(0)
      const isAnswered = at.pause && (letters.at(-1)?.generation ?? 0) > at.pause.answered
      return { ...at, pause: isAnswered ? undefined : at.pause, message, queued, isCanceled }
    },
  }
}

interface OpenTurn extends Mutable<Omit<Journal, 'message' | 'queued' | 'isCanceled'>> {
  readonly message: number
  readonly output: Stored<OutputEvent>[]
  readonly steps: Map<string, Stored<StepEntry>>
  readonly unanswered: Set<number>
}

function newTurn(message: number): OpenTurn {
  return {
    message,
    attempt: 0,
    crashes: 0,
    crashesSinceProgress: 0,
    isHandedOver: false,
    pause: undefined,
    unanswered: new Set(),
    output: [],
    steps: new Map(),
  }
}
