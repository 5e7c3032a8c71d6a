import { type Bytes, fromBase64 } from '../base/base64.ts'
import type { Json } from '../base/json.ts'
import { type AuthRequired, readAuthRequired } from './extensions/in-task-credentials.ts'
import { type Artifact, type Message, type Part, type Task, type TaskStatus, textOf } from './model.ts'
import type { Outcome } from './service.ts'

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

/** The credentials that a task with this status needs to continue. */
export function authRequiredOf(status: TaskStatus): { readonly authRequired?: AuthRequired } {
  return status.state === 'auth-required' ? { authRequired: readAuthRequired(status) } : {}
}
