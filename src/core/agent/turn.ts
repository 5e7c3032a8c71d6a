import { defined, type Json, type JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { anything, checkOptions, type OptionChecks } from '../base/options.ts'
import type { Trace } from '../base/trace-context.ts'
import type { ArtifactEvent, MessageEvent, StatusEvent } from '../protocol/events.ts'
import type { Lineage } from '../protocol/extensions/lineage.ts'
import { checkUsage, type Usage } from '../protocol/extensions/usage.ts'
import {
  type Artifact,
  isEmptyText,
  type Message,
  type Principal,
  type Task,
  type TaskState,
  textOf,
} from '../protocol/model.ts'
import type { Activity, Span } from '../protocol/telemetry.ts'
import { type Ask, type AskCaller, type AskOptions, ask, askAll, isQuestions, type Question } from './ask.ts'
import type { AgentCalls, CallAgent } from './call-agent.ts'
import {
  type AgentEvents,
  type Content,
  dataPart,
  type File,
  filePart,
  InvalidContent,
  isFile,
  type MessageFields,
  readContent,
  readMetadata,
  readTexts,
} from './content.ts'
import type { RequireAuth } from './require-auth.ts'

/**
 * The handling of one message, and what an agent can do during it. Every method that emits an event (status, artifact,
 * data, file, ask, requireInput, fail, reject) turns the exchange into a task. The promises of status, artifact, data and
 * file resolve when the event is in a bounded window of events that are being stored, so awaiting them slows the agent
 * down to the speed of the store. Callers see an event only after it is stored. `ask`, `requireInput`, `step`, `call` and
 * the end of the turn wait until everything before them is stored.
 */
export interface Turn extends TurnOutput, AgentCalls {
  readonly taskId: string
  readonly contextId: string
  /** The text of the message. */
  readonly text: string
  readonly message: Message
  /** The task before this message. Undefined for the first message of a task. */
  readonly task: Task | undefined
  /** The earlier messages of this task, oldest first. */
  readonly history: readonly Message[]
  /**
   * Reads what was said before in the same context: the messages of the caller, and the answers of the agent, oldest
   * first. Of the last 20 tasks, and at most 256 KiB; older ones are left out.
   */
  conversation(): Promise<readonly Message[]>
  /** The metadata of the request. */
  readonly metadata: JsonObject
  /** The media types that the caller accepts. Empty means any. */
  readonly acceptedOutputModes: readonly string[]
  /** The URIs of the agent's extensions that the caller has activated. */
  readonly extensions: readonly string[]
  readonly principal: Principal
  /** 1, and more if a process stopped while it answered this message and the recovery policy repeats the turn. */
  readonly attempt: number
  /** Aborts on cancellation, deadline, loss of the lease and shutdown. Events emitted after that may not be stored. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** The agents on whose behalf the caller acts, and the limits that they set. */
  readonly lineage: Lineage
  /**
   * The position of the turn in its trace (W3C Trace Context), for requests outside of `turn.call`, which sends it by
   * itself. Undefined if neither the caller nor the telemetry has a trace.
   */
  readonly trace: Trace | undefined
  /** Reports a model request or a tool call to the telemetry. Without telemetry, it only runs the work. */
  observe<T>(activity: Extract<Activity, { type: 'model' | 'tool' }>, work: (span?: Span) => Promise<T>): Promise<T>

  /**
   * Calls another agent and resolves with its answer. The other agent's questions go to the caller of this agent, and
   * the answers back. With the recovery policy `resume`, a resumed turn continues the same task of the other agent.
   *
   * @example
   * const { text } = await turn.call('https://prices.example.com', 'The price of a chair')
   */
  readonly call: CallAgent
  /** Waits for credentials and resolves with them. */
  readonly requireAuth: RequireAuth
  /**
   * Exchanges the caller's token for one to call another service on its behalf (RFC 8693). The token is never stored:
   * call this again instead of keeping it.
   */
  delegate(audience: string, scopes?: readonly string[]): Promise<string>

  /**
   * Asks the caller a question and waits for the answer within this turn.
   *
   * @example
   * const answer = await turn.ask('Publish the report?', { schema: z.enum(['yes', 'no']) })
   * const [size, color] = await turn.ask([{ question: 'Which size?' }, { question: 'Which color?' }])
   */
  readonly ask: Ask
  /**
   * Runs a piece of work and resolves with its result, which must be JSON. With the recovery policy `resume`, the
   * result is stored, and a resumed turn does not run the work again. The work emits events through its argument.
   *
   * @example
   * const order = await turn.step('order', () => shop.order('chair'))
   */
  step<T>(name: string, work: (output: TurnOutput) => T | Promise<T>): Promise<T>
  /**
   * Streams the answer: the artifact `answer` of the task. Content that the function returns besides is a closing remark
   * in the last status.
   *
   * @example
   * for (const word of ['It', ' is', ' noon.']) await turn.answer.write(word)
   */
  readonly answer: AnswerWriter
  /** Asks the caller a question and ends the turn: return after it. The answer starts a new turn. */
  requireInput(question: Content): Promise<void>
  /** Resolves when every event emitted so far is stored. Rejects if one could not be stored. */
  flush(): Promise<void>
  /**
   * Adds members to the metadata of the task, as a status of its own that carries them. Every reader of the task gets
   * them, also after later turns.
   */
  setMetadata(metadata: JsonObject): Promise<void>
  fail(reason: Content): Promise<void>
  reject(reason: Content): Promise<void>
}

/** What the runtime provides for a turn. */
export interface TurnContext extends EventSink {
  readonly flush: Turn['flush']
  readonly taskId: string
  readonly contextId: string
  readonly messageEvent: MessageEvent
  readonly attempt: number
  /** Milliseconds since 1970, by the clock of the runtime. */
  readonly now: () => number
  readonly agentEvents: AgentEvents
  readonly task: Task | undefined
  readonly history: readonly Message[]
  readonly signal: AbortSignal
  readonly log: Logger
  readonly step: (name: string, work: (sink: EventSink) => unknown) => Promise<Json | undefined>
  readonly ask: AskCaller
  readonly lineage: Lineage
  readonly trace: Trace | undefined
  readonly observe: Turn['observe']
  /** Created on first use: most turns call no other agent. */
  readonly calls: () => AgentCalls
  readonly requireAuth: RequireAuth
  readonly delegate: Turn['delegate']
  readonly setMetadata: Turn['setMetadata']
  readonly conversation: Turn['conversation']
}

export function createTurn(context: TurnContext): Turn {
  const { messageEvent, agentEvents } = context
  const { message, metadata = {}, principal, acceptedOutputModes = [], extensions = [] } = messageEvent
  const { status, artifact, data, file, usage } = createTurnOutput(agentEvents, context)

  return {
    taskId: context.taskId,
    contextId: context.contextId,
    text: textOf(message),
    message,
    metadata,
    principal,
    task: context.task,
    history: context.history,
    conversation: context.conversation,
    acceptedOutputModes,
    extensions,
    attempt: context.attempt,
    signal: context.signal,
    log: context.log,
    lineage: context.lineage,
    trace: context.trace,
    observe: context.observe,
    call: (agent, content, options) => context.calls().call(agent, content, options),
    callAll: (calls, options) => context.calls().callAll(calls, options),
    callFirst: (calls, options) => context.calls().callFirst(calls, options),
    requireAuth: context.requireAuth,
    delegate: context.delegate,
    status,
    artifact,
    answer: createAnswer(() => artifact('answer')),
    data,
    file,
    usage,
    // The signatures of `Ask` differ only in their types.
    ask: ((question: Content | readonly Question[], options?: AskOptions) =>
      isQuestions(question) ? askAll(context, question) : ask(context, question, options)) as Ask,
    async step<T>(name: string, work: (output: TurnOutput) => T | Promise<T>) {
      checkStep(name, work)
      // A result has the same type when it is read from the journal.
      return (await context.step(name, (sink) => work(createTurnOutput(agentEvents, sink)))) as T
    },
    flush: context.flush,
    requireInput: (question) => status('input-required', question),
    setMetadata: (metadata) => context.setMetadata(readMetadata(metadata, 'metadata')),
    fail: (reason) => status('failed', reason),
    reject: (reason) => status('rejected', reason),
  }
}

/** Takes the events of an agent. */
export interface EventSink {
  /** Resolves when the event is in the window of the task's writer. */
  readonly emit: (event: StatusEvent | ArtifactEvent) => Promise<void>
  readonly newArtifactId: () => string
  /** Resolves when the usage is counted. */
  readonly addUsage: (usage: Usage) => Promise<void>
}

/** Options of `turn.artifact`, `turn.data` and `turn.file`. */
export interface ArtifactOptions {
  readonly description?: string
  /** The media type of parts that have none of their own. */
  readonly mediaType?: string
  readonly metadata?: JsonObject
  /** The URIs of the extensions that the artifact uses. */
  readonly extensions?: readonly string[]
}

/** Options of a status that a turn emits. */
export interface EventOptions {
  /** The metadata of the event itself. Readers of the stream and webhooks get it; the task does not keep it. */
  readonly metadata?: JsonObject
}

/** The values are checked where they are read. */
const eventChecks: OptionChecks<EventOptions> = { metadata: anything }

const artifactChecks: OptionChecks<ArtifactOptions> = {
  ...eventChecks,
  description: anything,
  mediaType: anything,
  extensions: anything,
}

/** Writes one artifact in chunks, and marks the first and the last one. */
export interface ArtifactWriter {
  readonly artifactId: string
  /**
   * Resolves when the chunk is in the window of events that are being stored. Awaiting it slows the agent down to the
   * speed of the store. Empty text is not sent. Metadata and extensions of a chunk such as `{ parts, metadata }` are added to those of the artifact.
   */
  write(chunk: Content, options?: EventOptions): Promise<void>
  /**
   * Completes the artifact, with an optional last chunk. Without one, readers that have the chunk before get an empty text
   * that is marked as the last chunk. The end of the turn completes artifacts that are still open.
   */
  close(chunk?: Content, options?: EventOptions): Promise<void>
}

/** Writes the artifact `answer` of a turn in chunks, as an `ArtifactWriter` does. The first chunk creates it. */
export type AnswerWriter = Pick<ArtifactWriter, 'write' | 'close'>

/** Emits events of an agent. The promises resolve when the event is in the window of events that are being stored. */
export interface TurnOutput {
  /**
   * Changes the status of the task. `started` is shown to house clients; other clients see `submitted`.
   *
   * @example
   * await turn.status('working', 'Reading the figures')
   */
  status(state: TaskState | 'started', content?: Content, options?: EventOptions): Promise<void>
  /**
   * Starts an artifact that is written in chunks.
   *
   * @example
   * const report = turn.artifact('report.md')
   * for (const line of lines) await report.write(line)
   * await report.close()
   */
  artifact(name: string, options?: ArtifactOptions): ArtifactWriter
  /**
   * Adds a complete artifact with one JSON value.
   *
   * @example
   * await turn.data({ total: 160, currency: 'EUR' }, 'order.json')
   */
  data(value: Json, name?: string, options?: ArtifactOptions): Promise<void>
  /**
   * Adds a complete artifact with one file.
   *
   * @example
   * await turn.file({ name: 'chart.png', mediaType: 'image/png', content: bytes })
   */
  file(file: File, options?: ArtifactOptions): Promise<void>
  /**
   * Counts what a model call used. The sum of the turn is on its last status, in the metrics and in `limits`. A turn that
   * exceeds the limit of its caller is stopped. Call it in the step that calls the model, so that it counts once.
   *
   * @example
   * await turn.usage({ model: 'gpt-5', inputTokens: 1200, outputTokens: 80 })
   */
  usage(usage: Usage): Promise<void>
}

function createTurnOutput(agentEvents: AgentEvents, { emit, newArtifactId, addUsage }: EventSink): TurnOutput {
  function start(name: string, options: ArtifactOptions = {}): StartedArtifact {
    checkOptions('turn.artifact()', options, artifactChecks)
    const { mediaType, description, metadata, extensions } = options
    for (const [member, value] of Object.entries({ name, mediaType, description })) {
      if (typeof value === 'string' || (value === undefined && member !== 'name')) continue
      throw new TypeError(`turn.artifact(): expected ${member} to be text, got ${typeof value}`)
    }
    const members = defined({
      artifactId: newArtifactId(),
      name,
      description,
      metadata: metadata === undefined ? undefined : readMetadata(metadata, 'metadata'),
      extensions: extensions === undefined ? undefined : readTexts(extensions, 'extensions'),
    })
    return startArtifact(members, mediaType, emit)
  }

  return {
    status: (state, content, options) => emit(withMetadata(statusOf(agentEvents, state, content), options)),
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
      if (!isFile(file)) throw new InvalidContent('turn.file(): expected { name, content } with text, bytes or a URL')
      return start(file.name, options).send({ parts: [filePart(file)] }, true)
    },
    async usage(usage) {
      checkUsage(usage)
      await addUsage(usage)
    },
  }
}

function createAnswer(start: () => ArtifactWriter): AnswerWriter {
  let artifact: ArtifactWriter | undefined
  const open = () => {
    artifact ??= start()
    return artifact
  }
  return {
    write: (chunk, options) => open().write(chunk, options),
    close: (chunk, options) => open().close(chunk, options),
  }
}

/** A rejected promise. If the agent does not await it, it is no unhandled rejection. */
export function rejected(reason: string): Promise<never> {
  const promise = Promise.reject(new Error(reason))
  promise.catch(() => {})
  return promise
}

function checkStep(name: unknown, work: unknown): void {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`turn.step(): expected a name that is not empty, got ${JSON.stringify(name)}`)
  }
  if (typeof work !== 'function') throw new TypeError(`turn.step(${name}): expected a function, got ${typeof work}`)
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

/** The artifact with its first chunk. */
function joinFields(artifact: Omit<Artifact, 'parts'>, fields: ChunkFields): Artifact {
  const { parts, metadata, extensions } = fields
  return {
    ...artifact,
    parts,
    ...defined({
      metadata: metadata && { ...artifact.metadata, ...metadata },
      extensions: extensions && [...new Set([...(artifact.extensions ?? []), ...extensions])],
    }),
  }
}

function statusOf(agentEvents: AgentEvents, state: TaskState | 'started', content: Content | undefined): StatusEvent {
  const fields = readOptional(content)
  if (state !== 'started') return agentEvents.status(state, fields)
  const { status, ...event } = agentEvents.status('submitted', fields)
  return { ...event, status: { ...status, isStarted: true } }
}

/** A status without text has no message. */
function readOptional(content: Content | undefined): MessageFields | undefined {
  return content === undefined || content === null || content === '' ? undefined : readContent(content)
}

function withMetadata<E extends StatusEvent | ArtifactEvent>(event: E, options: EventOptions | undefined): E {
  if (options === undefined) return event
  checkOptions(event.type === 'status' ? 'turn.status()' : 'artifact.write()', options, eventChecks)
  return options.metadata === undefined ? event : { ...event, metadata: readMetadata(options.metadata, 'metadata') }
}
