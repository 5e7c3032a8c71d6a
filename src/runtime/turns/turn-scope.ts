import type { AnswerDeadline } from '../../agent/ask.ts'
import type { TurnContext } from '../../agent/turn.ts'
import type { AgentEvents, EventSink } from '../../agent/turn-output.ts'
import type { Json } from '../../base/json.ts'
import type { Trace } from '../../base/trace-context.ts'
import type { MessageEvent, StatusEvent } from '../../protocol/events.ts'
import type { Lineage } from '../../protocol/extensions/lineage.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'
import type { OutputEvent } from '../recovery/journal.ts'
import type { TurnSecrets } from '../secrets.ts'
import type { TaskFailure } from './input-timeout.ts'
import type { MessageQueue } from './message-queue.ts'
import type { Stop } from './stop.ts'

/** For whom nothing more will happen in this process. */
export function never(): Promise<never> {
  return new Promise(() => {})
}

/** Who says that a task works says that nobody is asked any more. */
export function isWorkingStatus(event: OutputEvent): boolean {
  return event.type === 'status' && (event.status.state === 'working' || event.status.state === 'submitted')
}

export interface QuestionOptions extends AnswerDeadline {
  /** A turn that lives in this process gives up the question when the signal says so. */
  readonly signal?: AbortSignal | undefined
  /** The question once more, if the answer to it is with a process that is gone. */
  readonly again?: (answer: MessageEvent) => StatusEvent | undefined
}

/** A turn as those see it who do larger things in its name: ask other agents, wait for credentials. */
export interface TurnScope {
  readonly task: NewTask
  readonly messageEvent: MessageEvent
  readonly lineage: Lineage
  readonly trace: Trace | undefined
  readonly agentEvents: AgentEvents
  readonly stop: Stop
  readonly queue: MessageQueue
  readonly secrets: TurnSecrets
  readonly settings: RuntimeSettings
  readonly emit: EventSink['emit']
  readonly step: (name: string, work: (within: EventSink) => unknown) => Promise<Json | undefined>
  readonly ask: (question: StatusEvent, waiting?: Omit<QuestionOptions, 'again'>) => Promise<MessageEvent>
  /** The caller is asked, and has not answered. */
  readonly isAsking: () => boolean
  /** What was said and done before is gone through again, and there is more of it. */
  readonly isReplaying: () => boolean
  /** From now on it waits for its caller, which may take long. */
  readonly beginWaiting: () => void
  /** The task does not wait for its caller any more. */
  readonly endWaiting: () => void
  /** A message was given to the turn. */
  readonly recordAnswer: (message: MessageEvent) => void
}

/** What a step gives is stored as JSON, and of the same type when it comes back. */
export async function runStep<T>(scene: TurnScope, name: string, work: (within: EventSink) => Promise<T>): Promise<T> {
  return (await scene.step(name, work)) as T
}

export interface PausedTurn {
  /** Milliseconds since 1970. */
  readonly wakeAt?: number
}

/** Where the acts of a turn go: straight to the log, or past the journal of what was done before. */
export interface StepExecutor extends Pick<TurnContext, 'emit'> {
  ask(question: StatusEvent, waiting: QuestionOptions): Promise<MessageEvent>
  /** The work is told by which key what it says is marked, if it must be. */
  step(name: string, work: (key?: string) => unknown): Promise<Json | undefined>
  /** The caller is asked, and has not answered. */
  isAsking(): boolean
  /** What was done before is gone through again, and there is more of it. */
  isReplaying(): boolean
  /** The turn is over, and has come to its end or not. */
  close(isDone: boolean): void
  /** Why the task must end here, if it must. */
  failure(): TaskFailure | undefined
  /** The turn is left for now: nobody waits for its answer but the log. */
  pause(): PausedTurn | undefined
}
