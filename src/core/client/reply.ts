import { type Bytes, fromBase64 } from '../base/base64.ts'
import type { Json } from '../base/json.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { type AuthRequired, readAuthRequired } from '../protocol/extensions/in-task-credentials.ts'
import { type Artifact, type Message, type Part, type Task, type TaskStatus, textOf } from '../protocol/model.ts'
import type { Outcome } from '../protocol/service.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'

/** A stream event, with the credentials that its task needs to continue. */
export type ClientEvent = StreamEvent & { readonly authRequired?: AuthRequired }

export interface OutputFile {
  readonly name: string | undefined
  readonly mediaType: string | undefined
  /** Set if the file is a URL. */
  readonly url: string | undefined
  /** Set if the file came with the message. */
  readonly bytes: Bytes | undefined
}

/** An artifact, with its parts sorted by kind. */
export interface Output {
  readonly artifactId: string
  readonly name: string | undefined
  /** All text parts, joined. */
  readonly text: string
  readonly data: readonly Json[]
  readonly files: readonly OutputFile[]
  readonly artifact: Artifact
}

/** The answer of an agent: a message, or a task in its current state. */
export type Reply = {
  /**
   * What the agent answered: the text of its message, or of its completed task the artifact `answer`, the text of the
   * status if there is none, of all artifacts, or of the agent's last message in the history, whichever comes first.
   */
  readonly text: string
  /** What the agent produced beside its answer. */
  readonly artifacts: readonly Output[]
  /** The content of all artifacts together; of the message if there is no task. */
  readonly output: Pick<Output, 'text' | 'data' | 'files'>
  readonly contextId: string | undefined
} & (
  | { readonly type: 'message'; readonly message: Message; readonly task?: undefined }
  | {
      readonly type: 'task'
      readonly task: Task
      readonly message?: undefined
      /** Set if the task needs credentials to continue. */
      readonly authRequired?: AuthRequired
    }
)

export function toReply(outcome: Outcome): Reply {
  if (outcome.type === 'message') {
    const { message } = outcome
    const { contextId, parts } = message
    return { type: 'message', message, text: textOf(message), artifacts: [], output: sortParts(parts), contextId }
  }
  const { task } = outcome
  const artifacts = task.artifacts.map(toOutput)
  const output = {
    text: artifacts.flatMap(({ text }) => text || []).join('\n'),
    data: artifacts.flatMap(({ data }) => data),
    files: artifacts.flatMap(({ files }) => files),
  }
  const text = answerTextOf(task, artifacts) || statusTextOf(task) || output.text || lastAgentTextOf(task)
  return { type: 'task', ...authRequiredOf(task.status), task, text, artifacts, output, contextId: task.contextId }
}

/** A status that is a question, a failure or the answer itself comes before an artifact. */
function answerTextOf({ status: { state, isAnswer } }: Task, artifacts: readonly Output[]): string | undefined {
  if (state !== 'completed' || isAnswer) return undefined
  return artifacts.findLast(({ name }) => name === 'answer')?.text
}

function statusTextOf({ status: { message } }: Task): string {
  return message ? textOf(message) : ''
}

/** Some agents put their answer into the history only. */
function lastAgentTextOf({ history }: Task): string {
  const message = history.findLast(({ role }) => role === 'agent')
  return message ? textOf(message) : ''
}

export function toOutput(artifact: Artifact): Output {
  const { artifactId, name, parts } = artifact
  return { artifactId, name, ...sortParts(parts), artifact }
}

function sortParts(parts: readonly Part[]): Pick<Output, 'text' | 'data' | 'files'> {
  return {
    text: parts.map((part) => ('text' in part ? part.text : '')).join(''),
    data: parts.flatMap((part) => ('data' in part ? [part.data] : [])),
    files: parts.flatMap((part) => ('raw' in part || 'url' in part ? [toFile(part)] : [])),
  }
}

function toFile(part: Extract<Part, { raw: string } | { url: string }>): OutputFile {
  return {
    name: part.filename,
    mediaType: part.mediaType,
    url: 'url' in part ? part.url : undefined,
    // Decoded on access, because most callers use few of many files.
    get bytes() {
      return 'raw' in part ? fromBase64(part.raw) : undefined
    },
  }
}

/** Whether the task has ended or waits for its caller. */
export function isSettled({ status: { state } }: Pick<Task, 'status'>): boolean {
  return isEnded(state) || isInterrupted(state)
}

/** Number of artifacts of a stream whose names are remembered. */
const maxNames = 1_000

/**
 * The events of a stream as a client emits them: with the credentials that the task needs, and with the name of the
 * artifact on each of its chunks. Many agents send the name only with the first one.
 */
export async function* toClientEvents(events: AsyncIterable<StreamEvent>): AsyncGenerator<ClientEvent> {
  const names = new Map<string, string>()
  const record = ({ artifactId, name }: Artifact) => {
    if (name !== undefined && names.size < maxNames) names.set(artifactId, name)
  }
  for await (const event of events) {
    if (event.type === 'task') event.task.artifacts.forEach(record)
    if (event.type !== 'artifact') yield withAuthRequired(event)
    else {
      record(event.artifact)
      const { name = names.get(event.artifact.artifactId) } = event.artifact
      yield name === event.artifact.name ? event : { ...event, artifact: { ...event.artifact, name } }
    }
  }
}

function withAuthRequired(event: StreamEvent): ClientEvent {
  if (event.type === 'message' || event.type === 'artifact') return event
  return { ...event, ...authRequiredOf(event.type === 'task' ? event.task.status : event.status) }
}

function authRequiredOf(status: TaskStatus): { readonly authRequired?: AuthRequired } {
  return status.state === 'auth-required' ? { authRequired: readAuthRequired(status) } : {}
}
