import { toBase64 } from '../base/base64.ts'
import { isList, type Json, type JsonObject } from '../base/json.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import { type Artifact, type Message, type Part, type TaskState, toTimestamp } from '../protocol/model.ts'

/** Whose voice it is, and by which clock it speaks. */
export interface TaskIds {
  readonly taskId: string
  readonly contextId: string
}

/** What an author may write where text is meant: a string, a part, or several parts. */
export type Content = string | Part | readonly Part[]

/** What an agent says, in the form in which it is stored. */
export interface AgentEvents {
  message(content: Content): Message
  status(state: TaskState, content?: Content): StatusEvent
}

export function createAgentEvents({ taskId, contextId }: TaskIds, now: () => number = Date.now): AgentEvents {
  function message(content: Content): Message {
    return { messageId: crypto.randomUUID(), role: 'agent', parts: toParts(content), taskId, contextId }
  }

  return {
    message,
    status: (state, content) => ({
      type: 'status',
      status: {
        state,
        message: content === undefined ? undefined : message(content),
        timestamp: toTimestamp(now()),
      },
    }),
  }
}

/** By which it is said. */
export interface EventSink {
  /** Resolves when the event is stored. */
  readonly emit: (event: StatusEvent | ArtifactEvent) => Promise<void>
  readonly newArtifactId: () => string
}

export interface ArtifactOptions {
  readonly description?: string
  readonly mediaType?: string
  readonly metadata?: JsonObject
}

/** A piece of an artifact. Bytes become a raw part. */
export type Chunk = Content | Uint8Array

/** Writes one artifact piece by piece. It alone knows which piece is the first and which the last. */
export interface ArtifactWriter {
  readonly artifactId: string
  /** Resolves when the chunk is stored: awaiting it slows the agent down to the speed of the store. */
  write(chunk: Chunk): Promise<void>
  /** Marks the artifact as complete, with a last chunk if one is given. */
  close(chunk?: Chunk): Promise<void>
}

export interface File {
  readonly name: string
  readonly mediaType?: string
  readonly content: Uint8Array | string | URL
}

/** What an agent can say of its work. The promises resolve when it is stored. */
export interface TurnOutput {
  status(state: TaskState, content?: Content): Promise<void>
  artifact(name: string, options?: ArtifactOptions): ArtifactWriter
  /** Adds a whole artifact that is one JSON value. */
  data(value: Json, name?: string): Promise<void>
  /** Adds a whole artifact that is one file. */
  file(file: File): Promise<void>
}

export function createTurnOutput(voice: AgentEvents, { emit, newArtifactId }: EventSink): TurnOutput {
  function artifact(name: string, { mediaType, ...options }: ArtifactOptions = {}): ArtifactWriter {
    return createArtifactWriter({ artifact: { artifactId: newArtifactId(), name, ...options }, mediaType, emit })
  }

  return {
    status: (state, content) => emit(voice.status(state, content)),
    artifact,
    // A copy: what is stored does not change when the agent goes on working with its value.
    data: (value, name = 'data') =>
      artifact(name).close({ data: structuredClone(value), mediaType: 'application/json' }),
    file: (file) => artifact(file.name).close(filePart(file)),
  }
}

export function toParts(content: Content): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }]
  return isList(content) ? content : [content]
}

/** A rejected promise for an author: who awaits it hears of it, who does not is not killed by it. */
export function rejected(reason: string): Promise<never> {
  const rejected = Promise.reject(new Error(reason))
  rejected.catch(() => {})
  return rejected
}

export interface ArtifactWriterOptions {
  readonly artifact: Omit<Artifact, 'parts'>
  readonly mediaType?: string
  readonly emit: (event: ArtifactEvent) => Promise<void>
}

function createArtifactWriter({ artifact, mediaType, emit }: ArtifactWriterOptions): ArtifactWriter {
  const { artifactId } = artifact
  let begun = false
  let closed = false

  function send(parts: readonly Part[], lastChunk: boolean): Promise<void> {
    if (closed) return rejected(`The artifact ${artifact.name ?? artifactId} is closed already.`)
    // Name and description go with the first chunk only: readers keep them.
    const event: ArtifactEvent = begun
      ? { type: 'artifact', artifact: { artifactId, parts }, append: true, lastChunk }
      : { type: 'artifact', artifact: { ...artifact, parts }, lastChunk }
    begun = true
    closed = lastChunk
    return emit(event)
  }

  return {
    artifactId,
    write: (chunk) => send(chunkParts(chunk, mediaType), false),
    // An artifact event must carry a part; an empty text closes without adding content.
    close: (chunk) => send(chunk === undefined ? [{ text: '' }] : chunkParts(chunk, mediaType), true),
  }
}

function chunkParts(chunk: Chunk, mediaType: string | undefined): readonly Part[] {
  const parts = chunk instanceof Uint8Array ? [{ raw: toBase64(chunk) }] : toParts(chunk)
  return mediaType ? parts.map((part) => ({ mediaType, ...part })) : parts
}

function filePart({ name, mediaType, content }: File): Part {
  const about = { filename: name, ...(mediaType !== undefined && { mediaType }) }
  if (content instanceof URL) return { url: content.href, ...about }
  return { raw: toBase64(typeof content === 'string' ? new TextEncoder().encode(content) : content), ...about }
}
