import type { ArtifactEvent, JournalEntry, StatusEvent, StoredEvent } from '../protocol/events.ts'
import type { TaskLog } from '../tasks/log.ts'
import type { Mutable } from '../tasks/mutable.ts'
import type { Letter } from './inbox.ts'

/** What the log says of the turn that a task is in: enough to go on with it in another process. */
export interface Journal {
  /** The message that it answers; if the last turn is over, the next one that nobody has answered. */
  readonly letter: Letter | undefined
  /** The messages after it. */
  readonly queued: readonly Letter[]
  /** How many attempts to answer it were begun. */
  readonly attempt: number
  /** How many of them ended with their process; and how many since something new was stored. */
  readonly crashes: number
  readonly futile: number
  readonly isHandedOver: boolean
  readonly isCanceled: boolean
  /** It waits for an answer, and none has come. */
  readonly pause: Pause | undefined
  /** What the agent has said in this turn. */
  readonly said: readonly Said[]
  readonly steps: ReadonlyMap<string, Step>
  /** Steps that were under way when something else was stored. */
  readonly begun: ReadonlySet<string>
}

export type Said = StatusEvent | ArtifactEvent
export type Step = Extract<JournalEntry, { readonly type: 'step' }>
export type Pause = Extract<JournalEntry, { readonly type: 'paused' }>

/** Reads up to a generation; undefined if the task was begun without a journal. */
export async function readJournal(log: TaskLog, taskId: string, until: number): Promise<Journal | undefined> {
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

function createReader() {
  const letters: Letter[] = []
  let turn: OpenTurn = newTurn(0)
  /** The last message that was answered, once the turn is over. */
  let answered: number | undefined
  let isCanceled = false
  let isKept = false

  function progress(): void {
    turn.futile = 0
    turn.pause = undefined
  }

  function enter(entry: JournalEntry): void {
    switch (entry.type) {
      case 'attempt':
        if (answered !== undefined || turn.message !== entry.message) turn = newTurn(entry.message)
        else if (!turn.isHandedOver) {
          turn.crashes++
          turn.futile++
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
      case 'begun':
        turn.begun.add(entry.step)
        return
      case 'step':
        progress()
        turn.steps.set(entry.step, entry)
    }
  }

  return {
    read({ generation, event }: StoredEvent): void {
      switch (event.type) {
        case 'message':
          turn.pause = undefined
          letters.push({ received: event, generation })
          return
        case 'cancel':
          isCanceled = true
          return
        case 'status':
          if (event.implied) return
          progress()
          turn.said.push(event)
          return
        case 'artifact':
          progress()
          turn.said.push(event)
          return
        case 'journal':
          enter(event.entry)
          return
        case 'reply':
          return
      }
    },
    journal(): Journal | undefined {
      if (!isKept) return undefined
      const from = answered === undefined ? turn.message : answered + 1
      const [letter, ...queued] = letters.filter(({ generation }) => generation >= from)
      return { ...(answered === undefined ? turn : newTurn(0)), letter, queued, isCanceled }
    },
  }
}

interface OpenTurn extends Mutable<Omit<Journal, 'letter' | 'queued' | 'isCanceled'>> {
  readonly message: number
  readonly said: Said[]
  readonly steps: Map<string, Step>
  readonly begun: Set<string>
}

function newTurn(message: number): OpenTurn {
  return {
    message,
    attempt: 0,
    crashes: 0,
    futile: 0,
    isHandedOver: false,
    pause: undefined,
    said: [],
    steps: new Map(),
    begun: new Set(),
  }
}
