import type { Artifact, Json, Message, Part, Task } from '../protocol/model.ts'
import { fromBase64, textOf } from '../protocol/parts.ts'
import type { Outcome } from '../protocol/service.ts'
import type { AuthRequired } from './auth-required.ts'
import { needsOf } from './needs.ts'

/** What an agent answered: a message, or a task and what has become of it. */
export type Reply = {
  /** What it says: the text of the message; or of the artifacts; or, if there is none, of the status. */
  readonly text: string
  readonly artifacts: readonly Output[]
  readonly contextId: string | undefined
} & (
  | { readonly type: 'message'; readonly message: Message; readonly task?: undefined }
  | {
      readonly type: 'task'
      readonly task: Task
      readonly message?: undefined
      /** If the task cannot go on without credentials. */
      readonly authRequired?: AuthRequired
    }
)

/** An artifact, taken apart by what it is made of. */
export interface Output {
  readonly artifactId: string
  readonly name: string | undefined
  /** Chunks of text as one. */
  readonly text: string
  readonly data: readonly Json[]
  readonly files: readonly OutputFile[]
  readonly artifact: Artifact
}

export interface OutputFile {
  readonly name: string | undefined
  readonly mediaType: string | undefined
  /** Where it is, or what it is. */
  readonly url: string | undefined
  readonly bytes: Uint8Array<ArrayBuffer> | undefined
}

export async function toReply(outcome: Outcome): Promise<Reply> {
  if (outcome.type === 'message') {
    const { message } = outcome
    return { type: 'message', message, text: textOf(message), artifacts: [], contextId: message.contextId }
  }
  const { task } = outcome
  const artifacts = task.artifacts.map(toOutput)
  const written = artifacts.map(({ text }) => text).filter((text) => text !== '')
  const said = task.status.message ? textOf(task.status.message) : ''
  const needs = await needsOf(task.status)
  return { type: 'task', ...needs, task, text: written.join('\n') || said, artifacts, contextId: task.contextId }
}

export function toOutput(artifact: Artifact): Output {
  const { artifactId, name, parts } = artifact
  return {
    artifactId,
    name,
    text: parts.map((part) => ('text' in part ? part.text : '')).join(''),
    data: parts.flatMap((part) => ('data' in part ? [part.data] : [])),
    files: parts.flatMap((part) => ('raw' in part || 'url' in part ? [toFile(part)] : [])),
    artifact,
  }
}

/** Decoded when it is read: most callers look at few of many. */
function toFile(part: Extract<Part, { raw: string } | { url: string }>): OutputFile {
  return {
    name: part.filename,
    mediaType: part.mediaType,
    url: 'url' in part ? part.url : undefined,
    get bytes() {
      return 'raw' in part ? fromBase64(part.raw) : undefined
    },
  }
}
