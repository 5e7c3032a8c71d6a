import type { AnswerDeadline } from '../../agent/ask.ts'
import type { AgentEvents } from '../../agent/content.ts'
import type { EventSink, TurnContext } from '../../agent/turn.ts'
import type { Json } from '../../base/json.ts'
import type { Trace } from '../../base/trace-context.ts'
import type { MessageEvent, StatusEvent } from '../../protocol/events.ts'
import type { Lineage } from '../../protocol/extensions/lineage.ts'
import type { Activity, Span } from '../../protocol/telemetry.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'
import type { OutputEvent } from '../recovery/journal.ts'
import type { TurnSecrets } from '../secrets.ts'
import type { TaskFailure } from './failures.ts'
import type { MessageQueue } from './message-queue.ts'
import type { Stop } from './stop.ts'

/** What a turn does that telemetry observes. */
export type ObservedActivity = Extract<Activity, { type: 'model' | 'tool' | 'call' }>

/** A turn as its larger parts see it: calls to other agents, waiting for credentials. */
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
  /** `isAwaited`: the turn itself waits for the answer to the question. */
  readonly emit: (event: OutputEvent, isAwaited?: boolean) => Promise<void>
  readonly step: (name: string, work: (sink: EventSink) => unknown) => Promise<Json | undefined>
  readonly ask: (question: StatusEvent, options?: Omit<QuestionOptions, 'again'>) => Promise<MessageEvent>
  /** Observes work, and records it in the trace of the task. */
  readonly observe: <T>(activity: ObservedActivity, work: (span?: Span) => Promise<T>) => Promise<T>
  /** Whether the caller has an unanswered question. */
  readonly isAsking: () => boolean
  /** Whether a resumed turn still repeats what the journal holds. */
  readonly isReplaying: () => boolean
  /** The turn waits for its caller: the inactivity timeout is suspended. */
  readonly beginWaiting: () => void
  readonly endWaiting: () => void
  /** Records a message that the turn took from the queue. */
  readonly recordAnswer: (message: MessageEvent) => void
}

/** Runs a step. Its result is stored as JSON and has the same type when a resumed turn reads it. */
export async function runStep<T>(scope: TurnScope, name: string, work: (sink: EventSink) => Promise<T>): Promise<T> {
  return (await scope.step(name, work)) as T
}

/** Executes what a turn does: directly on the log, or against the journal of an earlier attempt. */
export interface StepExecutor extends Pick<TurnContext, 'emit'> {
  /** Emits a question and resolves with the message that answers it. */
  ask(question: StatusEvent, options: QuestionOptions): Promise<MessageEvent>
  /** Runs the work, or returns its stored result. With a key, the work marks its events with it. */
  step(name: string, work: (key?: string) => unknown): Promise<Json | undefined>
  /** Whether the caller has an unanswered question. */
  isAsking(): boolean
  /** Whether a resumed turn still repeats what the journal holds. */
  isReplaying(): boolean
  /** Called when the turn is over. `isDone`: the agent returned. */
  close(isDone: boolean): void
  /** Why the task must fail, if it must. */
  failure(): TaskFailure | undefined
  /** Set if the turn waits for an answer and no process waits with it. */
  pause(): PausedTurn | undefined
}

export interface QuestionOptions extends AnswerDeadline {
  /** Gives up the question. Only for turns that cannot be resumed. */
  readonly signal?: AbortSignal | undefined
  /** Returns the question to repeat if the answer is lost, because the process that held it is gone. */
  readonly again?: (answer: MessageEvent) => StatusEvent | undefined
}

export interface PausedTurn {
  /** Milliseconds since 1970. */
  readonly wakeAt?: number
}

/** A promise that never settles. */
export function never(): Promise<never> {
  return new Promise(() => {})
}

/** The same ids in every attempt, so that an artifact of a later attempt replaces that of an earlier one. */
export function createNumberedIds(prefix: string): () => string {
  let last = 0
  return () => `${prefix}-${++last}`
}

/** The events are stored as part of the step. */
export function createStepSink(
  emit: EventSink['emit'],
  generation: number,
  step: string,
): Pick<EventSink, 'emit' | 'newArtifactId'> {
  const path = `${generation}-${encodeURIComponent(step.replaceAll(' ', '-'))}`
  return { emit: (event) => emit({ ...event, step }), newArtifactId: createNumberedIds(`artifact-${path}`) }
}
