import type { Json, JsonObject } from '../base/json.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import { type Artifact, type Message, type Part, type TaskState, toTimestamp } from '../protocol/model.ts'
import {
  type Content,
  dataPart,
  type File,
  filePart,
  invalidContent,
  isFile,
  type MessageFields,
  readContent,
  readMetadata,
  readTexts,
} from './content.ts'

/** The ids that an event needs. */
export interface TaskIds {
  readonly taskId: string
  readonly contextId: string
}

/** Creates the messages and status events of an agent, from content that is known to be valid. */
export interface AgentEvents {
  message(content: string | MessageFields): Message
  status(state: TaskState, content?: string | MessageFields): StatusEvent
}

export function createAgentEvents({ taskId, contextId }: TaskIds, now: () => number = Date.now): AgentEvents {
  function message(content: string | MessageFields): Message {
    const fields = typeof content === 'string' ? { parts: [{ text: content }] } : content
    return { messageId: crypto.randomUUID(), role: 'agent', ...fields, taskId, contextId }
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
  /** The media type of parts that have none of their own. */
  readonly mediaType?: string
  readonly metadata?: JsonObject
  /** The URIs of the extensions that the artifact uses. */
  readonly extensions?: readonly string[]
}

export interface EventOptions {
  /** The metadata of the event itself. Readers of the stream and webhooks get it; the task does not keep it. */
  readonly metadata?: JsonObject
}

/** Writes one artifact in chunks, and marks the first and the last one. */
export interface ArtifactWriter {
  readonly artifactId: string
  /**
   * Resolves when the chunk is stored. Awaiting it slows the agent down to the speed of the store. Empty text is not
   * sent. Metadata and extensions of a chunk such as `{ parts, metadata }` are added to those of the artifact.
   */
  write(chunk: Content, options?: EventOptions): Promise<void>
  /**
   * Completes the artifact, with an optional last chunk. Without one, the chunk before is marked as the last, for readers
   * that have not received it yet.
   */
  close(chunk?: Content, options?: EventOptions): Promise<void>
}

/** Emits events of an agent. The promises resolve when the event is stored. */
export interface TurnOutput {
  status(state: TaskState, content?: Content, options?: EventOptions): Promise<void>
  artifact(name: string, options?: ArtifactOptions): ArtifactWriter
  /** Adds a complete artifact with one JSON value. */
  data(value: Json, name?: string, options?: ArtifactOptions): Promise<void>
  /** Adds a complete artifact with one file. */
  file(file: File, options?: ArtifactOptions): Promise<void>
}

export function createTurnOutput(agentEvents: AgentEvents, { emit, newArtifactId }: EventSink): TurnOutput {
  function start(name: string, options: ArtifactOptions = {}): StartedArtifact {
    const { mediaType, description, metadata, extensions } = options
    for (const [member, value] of Object.entries({ name, mediaType, description })) {
      if (typeof value === 'string' || (value === undefined && member !== 'name')) continue
      throw new TypeError(`turn.artifact(): expected ${member} to be text, got ${typeof value}`)
    }
    const members = {
      artifactId: newArtifactId(),
      name,
      ...(description !== undefined && { description }),
      ...(metadata !== undefined && { metadata: readMetadata(metadata, 'metadata') }),
      ...(extensions !== undefined && { extensions: readTexts(extensions, 'extensions') }),
    }
    return startArtifact(members, mediaType, emit)
  }

  return {
    status: (state, content, options) => emit(withMetadata(agentEvents.status(state, readOptional(content)), options)),
    artifact(name, options) {
      const { artifactId, send } = start(name, options)
      return {
        artifactId,
        write: (chunk, eventOptions) => send(readContent(chunk), false, eventOptions),
        close: (chunk, eventOptions) => send(chunk === undefined ? noContent : readContent(chunk), true, eventOptions),
      }
    },
    data: (value, name = 'data', options) => start(name, options).send({ parts: [dataPart(value)] }, true),
    file(file, options) {
      if (!isFile(file)) throw invalidContent('turn.file(): expected { name, content } with text, bytes or a URL')
      return start(file.name, options).send({ parts: [filePart(file)] }, true)
    },
  }
}

/** A rejected promise. If the agent does not await it, it is no unhandled rejection. */
export function rejected(reason: string): Promise<never> {
  const promise = Promise.reject(new Error(reason))
  promise.catch(() => {})
  return promise
}

interface StartedArtifact {
  readonly artifactId: string
  send(content: MessageFields, lastChunk: boolean, options?: EventOptions): Promise<void>
}

function startArtifact(
  artifact: Omit<Artifact, 'parts'>,
  mediaType: string | undefined,
  emit: (event: ArtifactEvent) => Promise<void>,
): StartedArtifact {
  const { artifactId } = artifact
  let isStarted = false
  let isClosed = false

  return {
    artifactId,
    send(content, lastChunk, options) {
      if (isClosed) return rejected(`The artifact ${artifact.name ?? artifactId} is closed already.`)
      const fields = chunkFields(content, mediaType)
      isClosed = lastChunk
      // An event needs a part, and readers take an empty text for the answer: a chunk without content is not sent.
      if (fields.parts.length === 0 && (!lastChunk || !isStarted)) return Promise.resolve()
      // Only the first chunk carries name and description.
      const event: ArtifactEvent = isStarted
        ? { type: 'artifact', artifact: { artifactId, ...fields }, append: true, lastChunk }
        : { type: 'artifact', artifact: joinFields(artifact, fields), append: false, lastChunk }
      isStarted = true
      return emit(withMetadata(event, options))
    },
  }
}

const noContent: MessageFields = { parts: [] }

type ChunkFields = Pick<Artifact, 'parts' | 'metadata' | 'extensions'>

function chunkFields({ referenceTaskIds: _, ...fields }: MessageFields, mediaType: string | undefined): ChunkFields {
  const parts = fields.parts.some(isEmptyText) ? fields.parts.filter((part) => !isEmptyText(part)) : fields.parts
  return { ...fields, parts: mediaType ? parts.map((part) => ({ mediaType, ...part })) : parts }
}

function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === ''
}

/** The artifact with its first chunk. */
function joinFields(artifact: Omit<Artifact, 'parts'>, fields: ChunkFields): Artifact {
  const { parts, metadata, extensions } = fields
  return {
    ...artifact,
    parts,
    ...(metadata && { metadata: { ...artifact.metadata, ...metadata } }),
    ...(extensions && { extensions: [...new Set([...(artifact.extensions ?? []), ...extensions])] }),
  }
}

/** A status without text has no message. */
function readOptional(content: Content | undefined): MessageFields | undefined {
  return content === undefined || content === null || content === '' ? undefined : readContent(content)
}

function withMetadata<E extends StatusEvent | ArtifactEvent>(event: E, options: EventOptions | undefined): E {
  return options?.metadata === undefined ? event : { ...event, metadata: readMetadata(options.metadata, 'metadata') }
}
