import type { MessageEvent, TaskEvent } from '../protocol/events.ts'
import type { Logger } from '../protocol/logger.ts'
import type { Json, JsonObject, Message, Part, Principal, Task, TaskState } from '../protocol/model.ts'
import { textOf, toBase64 } from '../protocol/parts.ts'
import { type ArtifactWriter, createArtifactWriter } from './artifact-writer.ts'
import type { Content } from './content.ts'
import { createVoice } from './voice.ts'

/**
 * One message being answered: what an author works with. Whatever touches the task (status, artifact, data, file, ask,
 * requireInput, fail, reject) makes it a task. The promises resolve when the event is stored; awaiting them carries
 * the store's back-pressure to the agent.
 */
export interface Turn {
  readonly taskId: string
  readonly contextId: string
  /** The text of the message. */
  readonly text: string
  readonly message: Message
  /** The task as it was when the turn began; undefined if this message is the first of it. */
  readonly task: Task | undefined
  /** What was said in this task before this message, oldest first. */
  readonly history: readonly Message[]
  /** What the caller sent beside the message. */
  readonly metadata: JsonObject
  /** Media types that the caller can use; empty means any. */
  readonly acceptedOutputModes: readonly string[]
  /** Those of the agent's extensions that the caller has asked for, by their URIs. */
  readonly extensions: readonly string[]
  readonly principal: Principal
  /** 1, unless the process that answered this message before is gone and the agent's policy is to try again. */
  readonly attempt: number
  /** Aborts on cancel, deadline, loss of the lease, and shutdown. What is emitted after that may not be stored. */
  readonly signal: AbortSignal
  readonly log: Logger

  status(state: TaskState, content?: Content): Promise<void>
  artifact(name: string, options?: ArtifactOptions): ArtifactWriter
  /** Adds a whole artifact that is one JSON value. */
  data(value: Json, name?: string): Promise<void>
  /** Adds a whole artifact that is one file. */
  file(file: File): Promise<void>
  /** Asks the caller and waits for the answer, within this turn. */
  ask(question: Content): Promise<Answer>
  /** Asks the caller and leaves it there: the answer begins a new turn. Return after it. */
  requireInput(question: Content): Promise<void>
  fail(reason: Content): Promise<void>
  reject(reason: Content): Promise<void>
}

export interface ArtifactOptions {
  readonly description?: string
  readonly mediaType?: string
  readonly metadata?: JsonObject
}

export interface File {
  readonly name: string
  readonly mediaType?: string
  readonly content: Uint8Array | string | URL
}

/** What the caller said to a question. */
export type Answer = Pick<Turn, 'text' | 'message' | 'metadata' | 'principal'>

/** What the runtime gives to a turn. */
export interface TurnContext {
  readonly taskId: string
  readonly contextId: string
  readonly received: MessageEvent
  readonly attempt: number
  readonly task: Task | undefined
  readonly history: readonly Message[]
  readonly signal: AbortSignal
  readonly log: Logger
  readonly newArtifactId: () => string
  /** Resolves when the event is stored. */
  readonly emit: (event: TaskEvent) => Promise<void>
  /** The next message for this task, also if it has come already. */
  readonly nextMessage: () => Promise<MessageEvent>
}

export function createTurn(context: TurnContext): Turn {
  const { taskId, contextId, received, emit } = context

  const voice = createVoice(context)
  const status = (state: TaskState, content?: Content) => emit(voice.status(state, content))

  function artifact(name: string, { mediaType, ...options }: ArtifactOptions = {}): ArtifactWriter {
    return createArtifactWriter({
      artifact: { artifactId: context.newArtifactId(), name, ...options },
      mediaType,
      emit,
    })
  }

  return {
    taskId,
    contextId,
    ...asAnswer(received),
    task: context.task,
    history: context.history,
    acceptedOutputModes: received.acceptedOutputModes ?? [],
    extensions: received.extensions ?? [],
    attempt: context.attempt,
    signal: context.signal,
    log: context.log,
    status,
    artifact,
    // A copy: what is stored does not change when the agent goes on working with its value.
    data: (value, name = 'data') =>
      artifact(name).close({ data: structuredClone(value), mediaType: 'application/json' }),
    file: (file) => artifact(file.name).close(filePart(file)),
    async ask(question) {
      await status('input-required', question)
      return asAnswer(await context.nextMessage())
    },
    requireInput: (question) => status('input-required', question),
    fail: (reason) => status('failed', reason),
    reject: (reason) => status('rejected', reason),
  }
}

function asAnswer({ message, metadata = {}, principal }: MessageEvent): Answer {
  return { text: textOf(message), message, metadata, principal }
}

function filePart({ name, mediaType, content }: File): Part {
  const about = { filename: name, ...(mediaType !== undefined && { mediaType }) }
  if (content instanceof URL) return { url: content.href, ...about }
  return { raw: toBase64(typeof content === 'string' ? new TextEncoder().encode(content) : content), ...about }
}
