import { toBase64 } from '../base/base64.ts'
import { isList, type Json, type JsonObject } from '../base/json.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import { type Artifact, type Message, type Part, type TaskState, toTimestamp } from '../protocol/model.ts'

/** The ids that an event needs. */
export interface TaskIds {
  readonly taskId: string
  readonly contextId: string
}

/** Content of a message or an artifact: a string, a part, or several parts. */
export type Content = string | Part | readonly Part[]

/** Creates the messages and status events of an agent. */
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

/** Takes the events of an agent. */
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

/** A chunk of an artifact. Bytes become a raw part. */
export type Chunk = Content | Uint8Array

/** Writes one artifact in chunks, and marks the first and the last one. */
export interface ArtifactWriter {
  readonly artifactId: string
  /** Resolves when the chunk is stored. Awaiting it slows the agent down to the speed of the store. */
  write(chunk: Chunk): Promise<void>
  /** Completes the artifact, with an optional last chunk. */
  close(chunk?: Chunk): Promise<void>
}

/** A file to add as an artifact: its bytes, its text, or where it can be fetched. */
export interface File {
  readonly name: string
  readonly mediaType?: string
  readonly content: Uint8Array | string | URL
}

/** Emits events of an agent. The promises resolve when the event is stored. */
export interface TurnOutput {
  status(state: TaskState, content?: Content): Promise<void>
  artifact(name: string, options?: ArtifactOptions): ArtifactWriter
  /** Adds a complete artifact with one JSON value. */
  data(value: Json, name?: string): Promise<void>
  /** Adds a complete artifact with one file. */
  file(file: File): Promise<void>
}

export function createTurnOutput(agentEvents: AgentEvents, { emit, newArtifactId }: EventSink): TurnOutput {
  function artifact(name: string, { mediaType, ...options }: ArtifactOptions = {}): ArtifactWriter {
    return createArtifactWriter({ artifact: { artifactId: newArtifactId(), name, ...options }, mediaType, emit })
  }

  return {
    status: (state, content) => emit(agentEvents.status(state, content)),
    artifact,
    // A copy: the agent may change its value while the event waits to be stored.
    data: (value, name = 'data') =>
      artifact(name).close({ data: structuredClone(value), mediaType: 'application/json' }),
    file: (file) => artifact(file.name).close(filePart(file)),
  }
}

export function toParts(content: Content): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }]
  return isList(content) ? content : [content]
}

/** A rejected promise. If the agent does not await it, it is no unhandled rejection. */
export function rejected(reason: string): Promise<never> {
  const promise = Promise.reject(new Error(reason))
  promise.catch(() => {})
  return promise
}

interface ArtifactWriterOptions {
  readonly artifact: Omit<Artifact, 'parts'>
  readonly mediaType?: string
  readonly emit: (event: ArtifactEvent) => Promise<void>
}

function createArtifactWriter({ artifact, mediaType, emit }: ArtifactWriterOptions): ArtifactWriter {
  const { artifactId } = artifact
  let isStarted = false
  let isClosed = false

  function send(parts: readonly Part[], lastChunk: boolean): Promise<void> {
    if (isClosed) return rejected(`The artifact ${artifact.name ?? artifactId} is closed already.`)
    // Only the first chunk carries name and description.
    const event: ArtifactEvent = isStarted
      ? { type: 'artifact', artifact: { artifactId, parts }, append: true, lastChunk }
      : { type: 'artifact', artifact: { ...artifact, parts }, lastChunk }
    isStarted = true
    isClosed = lastChunk
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
  const members = { filename: name, ...(mediaType !== undefined && { mediaType }) }
  if (content instanceof URL) return { url: content.href, ...members }
  return { raw: toBase64(typeof content === 'string' ? new TextEncoder().encode(content) : content), ...members }
}
