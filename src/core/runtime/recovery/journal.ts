import type {
  ArtifactEvent,
  JournalEntry,
  PausedEntry,
  StatusEvent,
  StepEntry,
  StoredEvent,
  TraceSize,
} from '../../protocol/events.ts'
import type { Mutable } from '../../tasks/fold.ts'
import type { TaskLog } from '../../tasks/log.ts'
import type { QueuedMessage } from '../turns/message-queue.ts'

/** What an agent emits. */
export type OutputEvent = StatusEvent | ArtifactEvent

/** What the log holds about the current turn of a task: enough to continue it in another process. */
export interface Journal {
  /** The message that the turn answers; after the last turn, the next message without an answer. */
  readonly message: QueuedMessage | undefined
  /** The messages after it. */
  readonly queued: readonly QueuedMessage[]
  /** How many attempts to answer the message have started. */
  readonly attempt: number
  /** How many attempts ended with their process. */
  readonly crashes: number
  /** How many of them since the turn last stored something new. */
  readonly crashesSinceProgress: number
  readonly isHandedOver: boolean
  readonly isCanceled: boolean
  /** Set while the turn waits for an answer. */
  readonly pause: PausedEntry | undefined
  /** The numbers of the questions, from 1 on, that were not answered in time. */
  readonly unanswered: ReadonlySet<number>
  /** What the agent has emitted in this turn, without the events of steps. */
  readonly output: readonly Stored<OutputEvent>[]
  /** By `stepKey`. */
  readonly steps: ReadonlyMap<string, Stored<StepEntry>>
  /** The size of the task's trace, of all its turns. */
  readonly traceSize?: TraceSize | undefined
}

export interface Stored<T> {
  readonly generation: number
  readonly value: T
}

/** Reads the journal up to a generation. Undefined if the task was created without one. */
export async function readJournal(
  log: Pick<TaskLog, 'read'>,
  taskId: string,
  until: number,
): Promise<Journal | undefined> {
  const builder = createJournalBuilder()
  for (let after = 0; after < until; ) {
    const page = await log.read(taskId, after)
    const last = page.at(-1)
    if (!last) break
    for (const stored of page) if (stored.generation <= until) builder.add(stored)
    after = last.generation
  }
  return builder.journal()
}

/** Identifies a step by its name and by the number of its calls. */
export function stepKey({ step, call }: Pick<StepEntry, 'step' | 'call'>): string {
  return `${call} ${step}`
}

function createJournalBuilder() {
  const messages: QueuedMessage[] = []
  let turn: OpenTurn = createOpenTurn(0)
  /** The generation of the last answered message, between two turns. */
  let answered: number | undefined
  let isCanceled = false
  let isJournaled = false
  let traceSize: TraceSize | undefined

  function addEntry(entry: JournalEntry, generation: number): void {
    switch (entry.type) {
      case 'attempt':
        if (answered !== undefined || turn.messageGeneration !== entry.message) turn = createOpenTurn(entry.message)
        else if (!turn.isHandedOver) {
          turn.crashes++
          turn.crashesSinceProgress++
        }
        isJournaled = true
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
    add({ generation, event }: StoredEvent): void {
      if (event.traceChunk) traceSize = event.traceChunk.total
      switch (event.type) {
        case 'message':
          messages.push({ event, generation })
          return
        case 'cancel':
          isCanceled = true
          return
        case 'status':
        case 'artifact':
          if (event.type === 'status' && event.implied) return
          turn.crashesSinceProgress = 0
          if (event.type === 'status' && event.answered !== undefined) answered = event.answered
          else if (event.step === undefined) turn.output.push({ generation, value: event })
          return
        case 'journal':
          addEntry(event.entry, generation)
          return
        case 'reply':
          return
      }
    },
    journal(): Journal | undefined {
      if (!isJournaled) return undefined
      const from = answered === undefined ? turn.messageGeneration : answered + 1
      const [message, ...queued] = messages.filter(({ generation }) => generation >= from)
      const { messageGeneration: _, ...open } = answered === undefined ? turn : createOpenTurn(0)
      const isAnswered = open.pause && (messages.at(-1)?.generation ?? 0) > open.pause.answered
      return { ...open, pause: isAnswered ? undefined : open.pause, message, queued, isCanceled, traceSize }
    },
  }
}

interface OpenTurn extends Mutable<Omit<Journal, 'message' | 'queued' | 'isCanceled'>> {
  readonly messageGeneration: number
  readonly output: Stored<OutputEvent>[]
  readonly steps: Map<string, Stored<StepEntry>>
  readonly unanswered: Set<number>
}

function createOpenTurn(messageGeneration: number): OpenTurn {
  return {
    messageGeneration,
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
