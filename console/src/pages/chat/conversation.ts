import type { Artifact, ClientEvent, JsonObject, Message, Part, Task, TaskState, TaskStatus } from 'parley-a2a/client'

/** One thing in a conversation, in the order in which it appeared. */
export type Entry =
  | UserEntry
  | { readonly type: 'message'; readonly id: string; readonly parts: readonly Part[] }
  /** Status messages of a working agent. Only the last one is shown at first. */
  | { readonly type: 'progress'; readonly id: string; readonly texts: readonly string[] }
  | ArtifactEntry
  | Question
  | { readonly type: 'end'; readonly id: string; readonly taskId: string; readonly state: TaskState }

/** A message of the person. */
export interface UserEntry {
  readonly type: 'user'
  readonly id: string
  readonly parts: readonly Part[]
  /** Why it was not sent, or not answered. */
  readonly problem?: string
  /** Whether the parts are what was sent: secrets are not kept. */
  readonly canRepeat: boolean
}

export interface ArtifactEntry {
  readonly type: 'artifact'
  readonly id: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly Part[]
  readonly isComplete: boolean
}

/** The agent waits for the person. */
export interface Question {
  readonly type: 'question'
  readonly id: string
  readonly taskId: string
  readonly kind: 'input' | 'approval' | 'tool' | 'credentials'
  readonly parts: readonly Part[]
  readonly request: InputRequest
  readonly auth?: AuthRequired
  readonly isOpen: boolean
}

type AuthRequired = NonNullable<ClientEvent['authRequired']>

export interface InputRequest {
  readonly requestId?: string
  readonly schema?: JsonObject
  /** The schema of the result of a tool. */
  readonly resultSchema?: JsonObject
  readonly tool?: string
  readonly arguments?: JsonObject
  readonly sensitive?: boolean
}

/** A conversation with one agent, as far as this page has seen it. */
export interface Conversation {
  readonly id: string
  readonly agent: string
  readonly title: string
  readonly changed: number
  readonly contextId?: string
  /** The task that the next message continues. */
  readonly taskId?: string
  /** The last event of that task that this conversation includes. */
  readonly generation?: number
  readonly activity: 'idle' | 'sending' | 'streaming' | 'waiting'
  readonly entries: readonly Entry[]
}

const endedStates: ReadonlySet<TaskState> = new Set(['completed', 'failed', 'canceled', 'rejected', 'unknown'])

/** The metadata member with which agents request input: the client tools extension. */
const clientTools = 'https://parley.dev/ext/client-tools/v1'

const maxProgress = 200

/** The conversation after an event of its task. */
export function applyEvent(conversation: Conversation, event: ClientEvent): Conversation {
  switch (event.type) {
    case 'message':
      return applyReply(conversation, event.message)
    case 'task':
      return applyTask(conversation, event.task, event.authRequired)
    case 'status': {
      const { taskId, contextId, generation, status } = event
      return applyStatus({ ...conversation, taskId, contextId, generation }, status, event.authRequired)
    }
    case 'artifact': {
      const { taskId, contextId, generation, artifact, append, lastChunk } = event
      const next: Conversation = { ...conversation, taskId, contextId, generation, activity: 'streaming' }
      return applyArtifact(next, artifact, append === true, lastChunk !== false)
    }
  }
}

function applyReply(conversation: Conversation, message: Message): Conversation {
  const { taskId: _, generation: __, ...rest } = conversation
  return {
    ...withEntry(rest, { type: 'message', id: message.messageId, parts: message.parts }),
    ...(message.contextId !== undefined && { contextId: message.contextId }),
    activity: 'idle',
  }
}

/**
 * A task as a whole: at the start of a stream, and when single events could not be resumed. Its history is left out: the
 * conversation has these messages already.
 */
function applyTask(conversation: Conversation, task: Task, auth: AuthRequired | undefined): Conversation {
  const { id: taskId, contextId, generation } = task
  let next: Conversation = { ...conversation, taskId, contextId, generation, activity: 'streaming' }
  for (const artifact of task.artifacts) next = applyArtifact(next, artifact, false, true)
  return applyStatus(next, task.status, auth)
}

function applyStatus(conversation: Conversation, status: TaskStatus, auth: AuthRequired | undefined): Conversation {
  const { state, message } = status
  const { taskId = '' } = conversation
  if (state === 'input-required' || state === 'auth-required') {
    const question = questionOf(status, taskId, auth)
    return { ...withEntry(closeQuestions(conversation, question.id), question), activity: 'waiting' }
  }
  const closed = closeQuestions(conversation)
  if (!endedStates.has(state)) return withProgress({ ...closed, activity: 'streaming' }, message)
  const answered =
    message && message.parts.length > 0
      ? withEntry(closed, { type: 'message', id: message.messageId, parts: message.parts })
      : closed
  const { taskId: _, generation: __, ...rest } = withCompleteArtifacts(answered)
  return { ...withEntry(rest, { type: 'end', id: `end-${taskId}`, taskId, state }), activity: 'idle' }
}

function questionOf({ state, message }: TaskStatus, taskId: string, auth: AuthRequired | undefined): Question {
  const request = requestOf(message)
  const { tool, schema, arguments: input } = request
  const isCall = schema !== undefined || input !== undefined
  const ofTool = tool === undefined ? 'input' : isCall ? 'tool' : 'approval'
  return {
    type: 'question',
    id: request.requestId ?? message?.messageId ?? `question-${taskId}`,
    taskId,
    kind: state === 'auth-required' ? 'credentials' : ofTool,
    parts: message?.parts ?? [],
    request,
    ...(auth && { auth }),
    isOpen: true,
  }
}

function requestOf(message: Message | undefined): InputRequest {
  const request = message?.metadata?.[clientTools]
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return {}
  const { requestId, schema, resultSchema, tool, arguments: input, sensitive } = request as JsonObject
  return {
    ...(typeof requestId === 'string' && { requestId }),
    ...(isObject(schema) && { schema }),
    ...(isObject(resultSchema) && { resultSchema }),
    ...(typeof tool === 'string' && { tool }),
    ...(isObject(input) && { arguments: input }),
    sensitive: sensitive === true,
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function closeQuestions<T extends Conversation>(conversation: T, except?: string): T {
  const isOpen = (entry: Entry) => entry.type === 'question' && entry.isOpen && entry.id !== except
  if (!conversation.entries.some(isOpen)) return conversation
  const entries = conversation.entries.map((entry) => (isOpen(entry) ? { ...entry, isOpen: false } : entry))
  return { ...conversation, entries: entries as readonly Entry[] }
}

function withProgress(conversation: Conversation, message: Message | undefined): Conversation {
  const text = message?.parts.map((part) => ('text' in part ? part.text : '')).join('\n')
  if (!message || !text) return conversation
  const last = conversation.entries.at(-1)
  if (last?.type !== 'progress')
    return withEntry(conversation, { type: 'progress', id: message.messageId, texts: [text] })
  if (last.texts.at(-1) === text) return conversation
  const grown: Entry = { ...last, texts: [...last.texts, text].slice(-maxProgress) }
  return { ...conversation, entries: conversation.entries.with(-1, grown) }
}

function applyArtifact(
  conversation: Conversation,
  artifact: Artifact,
  append: boolean,
  isComplete: boolean,
): Conversation {
  const { artifactId, name, description, parts } = artifact
  const id = `${conversation.taskId} ${artifactId}`
  const index = conversation.entries.findLastIndex((entry) => entry.id === id)
  const old = index < 0 ? undefined : (conversation.entries[index] as ArtifactEntry)
  const entry: ArtifactEntry = {
    ...(old ?? { type: 'artifact', id }),
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    parts: old && append ? joinParts(old.parts, parts) : joinParts([], parts),
    isComplete,
  }
  const entries = old ? conversation.entries.with(index, entry) : [...conversation.entries, entry]
  return { ...conversation, entries }
}

/** Chunks of a text are one part. */
function joinParts(before: readonly Part[], added: readonly Part[]): readonly Part[] {
  const joined = [...before]
  for (const part of added) {
    const last = joined.at(-1)
    const isContinued = last && 'text' in last && 'text' in part && last.mediaType === part.mediaType
    if (isContinued) joined[joined.length - 1] = { ...last, text: last.text + part.text }
    else joined.push(part)
  }
  return joined
}

function withCompleteArtifacts(conversation: Conversation): Conversation {
  const entries = conversation.entries.map((entry) =>
    entry.type === 'artifact' && !entry.isComplete ? { ...entry, isComplete: true } : entry,
  )
  return { ...conversation, entries }
}

/** Adds an entry, or replaces the one with the same id. */
export function withEntry<T extends { readonly entries: readonly Entry[] }>(conversation: T, entry: Entry): T {
  const index = conversation.entries.findIndex(({ id, type }) => id === entry.id && type === entry.type)
  const entries = index < 0 ? [...conversation.entries, entry] : conversation.entries.with(index, entry)
  return { ...conversation, entries }
}
