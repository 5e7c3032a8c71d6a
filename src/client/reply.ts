import { fromBase64 } from '../base/base64.ts'
import { isList, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { type Artifact, type Message, type Part, type Task, type TaskStatus, textOf } from '../protocol/model.ts'
import type { Outcome } from '../protocol/service.ts'

/** What a task needs before it goes on, as far as the agent says it. To be got by other means than A2A. */
export interface AuthRequired {
  /** In words. */
  readonly text: string
  /** The schemes that are named, such as `Bearer` or `oauth2`. */
  readonly schemes: readonly string[]
  /** Where to go for it. */
  readonly urls: readonly string[]
  /** All that was said as data. */
  readonly details: readonly JsonObject[]
}

/** An event of a task, with what is needed where it cannot go on without credentials. */
export type ClientEvent = StreamEvent & { readonly authRequired?: AuthRequired }

export function withAuthRequired(event: StreamEvent): ClientEvent {
  if (event.type === 'message' || event.type === 'artifact') return event
  return { ...event, ...authRequiredOf(event.type === 'task' ? event.task.status : event.status) }
}

export interface OutputFile {
  readonly name: string | undefined
  readonly mediaType: string | undefined
  /** Where it is, or what it is. */
  readonly url: string | undefined
  readonly bytes: Uint8Array<ArrayBuffer> | undefined
}

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

export function toReply(outcome: Outcome): Reply {
  if (outcome.type === 'message') {
    const { message } = outcome
    return { type: 'message', message, text: textOf(message), artifacts: [], contextId: message.contextId }
  }
  const { task } = outcome
  const artifacts = task.artifacts.map(toOutput)
  const written = artifacts.map(({ text }) => text).filter((text) => text !== '')
  const said = task.status.message ? textOf(task.status.message) : ''
  const needs = authRequiredOf(task.status)
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

/** What the message of a status asks for that waits for credentials. */
function needsIn({ message }: TaskStatus): AuthRequired {
  const parts = message?.parts ?? []
  const details = parts.flatMap((part) => ('data' in part && isObject(part.data) ? [part.data] : []))
  const links = parts.flatMap((part) => ('url' in part ? [part.url] : []))
  return {
    text: message ? textOf(message) : '',
    schemes: unique(details.flatMap(schemesIn)),
    urls: unique([...links, ...details.flatMap((detail) => urlsIn(detail, 3))]),
    details,
  }
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}

/** As in `AuthenticationInfo`, before and since 1.0, or in a scheme as cards have it. */
function schemesIn({ scheme, schemes, type }: JsonObject): readonly string[] {
  const named = isList(schemes) ? schemes : isObject(schemes) ? Object.keys(schemes) : [scheme, type]
  return named.filter((each) => typeof each === 'string')
}

function urlsIn(value: Json, depth: number): readonly string[] {
  if (typeof value === 'string') return /^https?:\/\/\S+$/.test(value) ? [value] : []
  return typeof value === 'object' && value !== null && depth > 0
    ? Object.values(value).flatMap((each: Json) => urlsIn(each, depth - 1))
    : []
}

function authRequiredOf(status: TaskStatus): { readonly authRequired?: AuthRequired } {
  return status.state === 'auth-required' ? { authRequired: needsIn(status) } : {}
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
