import { defined, isObject, sameJson } from '../../base/json.ts'
import type { StreamEvent } from '../events.ts'
import type { Artifact, Message, Task } from '../model.ts'

/**
 * The key by which the metadata of an artifact says that it is the content that the agent returned. The log has it in the
 * message of the status; most readers get it as an artifact, because results of tasks are artifacts.
 */
export const answerKey = 'https://parley.dev/ext/answer/v1'

type StreamOf<T extends StreamEvent['type']> = Extract<StreamEvent, { readonly type: T }>

/** What remains of a status whose message is an artifact as well. */
export interface SplitOptions {
  /** The status keeps the message. */
  readonly keepsMessage?: boolean | undefined
}

/** The task with the message of its status as its last artifact. A task without one stays the same. */
export function withAnswerArtifact(task: Task, { keepsMessage }: SplitOptions = {}): Task {
  const { message, isAnswer: _, ...status } = task.status
  if (!message) return task
  const artifacts = [...task.artifacts, toArtifact(message)]
  return { ...task, status: keepsMessage ? { ...status, message } : status, artifacts }
}

/** A last status with an answer, as the answer's artifact and the status without it. */
export function splitAnswer(
  event: StreamOf<'status'>,
  { keepsMessage }: SplitOptions = {},
): readonly [StreamOf<'artifact'>, StreamOf<'status'>] | undefined {
  const { message, isAnswer, ...status } = event.status
  if (!isAnswer || !message) return undefined
  const { taskId, contextId, generation } = event
  // An answer is two changes of its task: see `changesIn`.
  const revision = event.revision && event.revision - 1
  const artifact = toArtifact(message)
  return [
    { type: 'artifact', taskId, contextId, generation, revision, artifact, append: false, lastChunk: true },
    { ...event, status: keepsMessage ? { ...status, message } : status },
  ]
}

/** Undoes `withAnswerArtifact`. */
export function restoreAnswer(task: Task): Task {
  const artifact = task.artifacts.findLast(isAnswerArtifact)
  if (!artifact) return task
  const { message = toMessage(artifact, task.id, task.contextId) } = task.status
  if (!sameJson(message.parts, artifact.parts)) return task
  const artifacts = task.artifacts.filter((other) => other !== artifact)
  return { ...task, status: { ...task.status, message, isAnswer: true }, artifacts }
}

/** Undoes `splitAnswer`: the artifact of an answer is held back until the status to which it belongs. */
export async function* restoreAnswers(events: AsyncGenerator<StreamEvent>): AsyncGenerator<StreamEvent> {
  let answer: StreamOf<'artifact'> | undefined
  for await (const event of events) {
    if (event.type === 'task') yield withTask(event)
    else if (event.type === 'artifact' && isAnswerArtifact(event.artifact)) answer = event
    else if (event.type === 'status' && answer) {
      const { message = toMessage(answer.artifact, event.taskId, event.contextId) } = event.status
      answer = undefined
      yield { ...event, status: { ...event.status, message, isAnswer: true } }
    } else yield event
  }
  // The stream broke before the status: a resumed one repeats the artifact.
}

function withTask(event: StreamOf<'task'>): StreamEvent {
  const task = restoreAnswer(event.task)
  return task === event.task ? event : { ...event, task }
}

function isAnswerArtifact({ metadata }: Artifact): boolean {
  return metadata?.[answerKey] !== undefined
}

function toArtifact({ messageId, parts, metadata, extensions, referenceTaskIds }: Message): Artifact {
  return defined({
    artifactId: `answer-${messageId}`,
    name: 'answer',
    parts,
    metadata: { ...metadata, [answerKey]: defined({ messageId, referenceTaskIds }) },
    extensions,
  })
}

function toMessage({ artifactId, parts, metadata, extensions }: Artifact, taskId: string, contextId: string): Message {
  const { [answerKey]: marker, ...others } = metadata ?? {}
  const { messageId, referenceTaskIds } = isObject(marker) ? marker : {}
  return defined({
    messageId: typeof messageId === 'string' ? messageId : artifactId,
    role: 'agent',
    parts,
    taskId,
    contextId,
    metadata: Object.keys(others).length > 0 ? others : undefined,
    extensions,
    referenceTaskIds: Array.isArray(referenceTaskIds)
      ? referenceTaskIds.filter((id) => typeof id === 'string')
      : undefined,
  })
}
