import type { Waiting } from '../agent/ask.ts'
import type { TurnContext } from '../agent/turn.ts'
import type { MessageEvent, StatusEvent } from '../protocol/events.ts'
import type { Json } from '../protocol/model.ts'
import type { Failure } from './input-timeout.ts'
import type { Said } from './journal.ts'

/** Where the acts of a turn go: straight to the log, or past the journal of what was done before. */
export interface Stage extends Pick<TurnContext, 'emit'> {
  ask(question: StatusEvent, waiting: StageWaiting): Promise<MessageEvent>
  /** The work is told by which key what it says is marked, if it must be. */
  step(name: string, work: (key?: string) => unknown): Promise<Json | undefined>
  /** The caller is asked, and has not answered. */
  isAsking(): boolean
  /** What was done before is gone through again, and there is more of it. */
  isReplaying(): boolean
  /** The turn is over, and has come to its end or not. */
  close(isDone: boolean): void
  /** Why the task must end here, if it must. */
  failure(): Failure | undefined
  /** The turn is left for now: nobody waits for its answer but the log. */
  pause(): PausedTurn | undefined
}

export interface StageWaiting extends Waiting {
  /** A turn that lives in this process gives up the question when the signal says so. */
  readonly signal?: AbortSignal | undefined
  /** The question once more, if the answer to it is with a process that is gone. */
  readonly again?: (answer: MessageEvent) => StatusEvent | undefined
}

export interface PausedTurn {
  /** Milliseconds since 1970. */
  readonly wakeAt?: number
}

/** For whom nothing more will happen in this process. */
export function never(): Promise<never> {
  return new Promise(() => {})
}

/** Who says that a task works says that nobody is asked any more. */
export function isWork(event: Said): boolean {
  return event.type === 'status' && (event.status.state === 'working' || event.status.state === 'submitted')
}
