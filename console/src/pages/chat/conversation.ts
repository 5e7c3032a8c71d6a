import type {
  Artifact,
  ClientEvent,
  Json,
  JsonObject,
  Message,
  Part,
  Task,
  TaskState,
  TaskStatus,
} from 'parley-a2a/client'
import type { QuestionAnswer } from '../../components/answers/answer.ts'

/** One thing in a conversation, in the order in which it appeared. `at` is missing in those of earlier versions. */
export type Entry = (
  | UserEntry
  | { readonly type: 'message'; readonly id: string; readonly parts: readonly Part[] }
  /** Status messages of a working agent. Only the last one is shown at first. */
  | { readonly type: 'progress'; readonly id: string; readonly texts: readonly string[] }
  | WorkEntry
  | ArtifactEntry
  | Question
  | EndEntry
) & { readonly at?: number }

/** A tool that the agent has called, or another agent. */
export interface WorkEntry {
  readonly type: 'work'
  readonly id: string
  readonly kind: 'tool' | 'agent'
  readonly name: string
  /** The task of the agent. */
  readonly taskId: string
  /** The id of the call of a tool, or of the task of the called agent. */
  readonly callId: string
  readonly state: 'running' | 'completed' | 'failed' | 'unknown'
  readonly input?: Json
  readonly output?: Json
  readonly texts: readonly string[]
  readonly started: number
  readonly ended?: number
}

export interface EndEntry {
  readonly type: 'end'
  readonly id: string
  readonly taskId: string
  readonly state: TaskState
  /** Milliseconds since the message that began the turn. */
  readonly duration?: number
}

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
  /** What the person answered in this browser. Secrets are not kept. */
  readonly answer?: QuestionAnswer
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
  /** When the question is given up. */
  readonly expiresAt?: number
  /** The arguments of a call that is to be approved. */
  readonly toolArguments?: JsonObject
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
      const next: Conversation = { ...conversation, taskId, contextId, generation }
      return applyStatus(applyWork(next, event), status, event.authRequired)
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
  if (!endedStates.has(state)) {
    const next: Conversation = { ...closed, activity: 'streaming' }
    return isWork(message) ? next : withProgress(next, message)
  }
  const answered =
    message && message.parts.length > 0
      ? withEntry(closed, { type: 'message', id: message.messageId, parts: message.parts })
      : closed
  const { taskId: _, generation: __, ...rest } = withCompleteArtifacts(answered)
  const begun = rest.entries.findLast(({ type }) => type === 'user')?.at
  const end: EndEntry = {
    type: 'end',
    id: `end-${taskId}`,
    taskId,
    state,
    ...(begun !== undefined && { duration: Date.now() - begun }),
  }
  return { ...withEntry(rest, end), activity: 'idle' }
}

/** The metadata member by which an agent names the tasks of agents that it calls. */
const lineage = 'https://parley.dev/ext/lineage/v1'

/** The metadata member by which a loop says what its progress is about. */
const progress = 'https://parley.dev/ext/progress/v1'

/** The media types of the call and the result of a tool. */
const toolUse = 'application/vnd.a2a.tool-use+json'
const toolResult = 'application/vnd.a2a.tool-result+json'

/** Whether a status is about a tool or a called agent, and shown as a card. */
function isWork(message: Message | undefined): boolean {
  return toolIn(message) !== undefined || childrenIn(message?.metadata).length > 0
}

function toolIn(message: Message | undefined): { readonly name: string; readonly callId: string } | undefined {
  const details = message?.metadata?.[progress]
  if (!isObject(details) || details.type !== 'tool' || typeof details.tool !== 'string') return undefined
  return { name: details.tool, callId: `${details.toolCallId}` }
}

function childrenIn(metadata: JsonObject | undefined): readonly JsonObject[] {
  const value = metadata?.[lineage]
  return isObject(value) && Array.isArray(value.children) ? value.children.filter(isObject) : []
}

/** The cards of tools and called agents after a status. */
function applyWork(conversation: Conversation, { status, metadata }: Extract<ClientEvent, { type: 'status' }>) {
  const { message, timestamp } = status
  const time = timestamp === undefined ? Date.now() : Date.parse(timestamp)
  const text = message?.parts.map((part) => ('text' in part ? part.text : '')).join('\n') ?? ''
  let next = conversation
  for (const child of childrenIn(metadata ?? message?.metadata)) next = applyChild(next, child, text, time)
  const tool = toolIn(message)
  return tool && message ? applyTool(next, { ...tool, parts: message.parts, text, time }) : next
}

function applyChild(conversation: Conversation, child: JsonObject, text: string, time: number): Conversation {
  const { agent, taskId: callId, state } = child
  if (typeof agent !== 'string' || typeof callId !== 'string') return conversation
  const { taskId = '' } = conversation
  const id = `agent ${callId}`
  const old = conversation.entries.find((entry) => entry.id === id)
  const isOver = endedStates.has(state as TaskState)
  const texts = old?.type === 'work' ? old.texts : []
  return withEntry(conversation, {
    type: 'work',
    kind: 'agent',
    id,
    name: agent,
    taskId,
    callId,
    state: isOver ? (state === 'completed' ? 'completed' : 'failed') : 'running',
    texts: text === '' || texts.at(-1) === text ? texts : [...texts, text].slice(-maxProgress),
    started: old?.type === 'work' ? old.started : time,
    ...(isOver && { ended: time }),
  })
}

interface ToolStatus {
  readonly name: string
  readonly callId: string
  readonly parts: readonly Part[]
  readonly text: string
  readonly time: number
}

/** Models use the id of a call again in later answers: a call that has a result, or is called anew, is a new card. */
function applyTool(conversation: Conversation, { name, callId, parts, text, time }: ToolStatus): Conversation {
  const { taskId = '' } = conversation
  const input = dataOf(parts, toolUse)?.arguments
  const result = dataOf(parts, toolResult)
  const old = conversation.entries.findLast((entry): entry is WorkEntry => isOpenCall(entry, taskId, callId))
  const isNew = !old || text === `Calling ${name}`
  const count = conversation.entries.filter(({ type }) => type === 'work').length
  const id = `tool ${taskId} ${callId} ${count}`
  const entry: WorkEntry = isNew
    ? { type: 'work', kind: 'tool', id, name, taskId, callId, state: 'running', texts: [], started: time }
    : old
  const isProgress = !isNew && text !== '' && result === undefined
  return withEntry(conversation, {
    ...entry,
    ...(input !== undefined && { input }),
    ...(isProgress && { texts: [...entry.texts, text].slice(-maxProgress) }),
    ...(result && { output: result.result ?? null, state: result.isError ? 'failed' : 'completed', ended: time }),
  })
}

function isOpenCall(entry: Entry, taskId: string, callId: string): boolean {
  return entry.type === 'work' && entry.taskId === taskId && entry.callId === callId && entry.ended === undefined
}

function dataOf(parts: readonly Part[], mediaType: string): JsonObject | undefined {
  const part = parts.find((each) => 'data' in each && each.mediaType === mediaType)
  return part && 'data' in part && isObject(part.data) ? part.data : undefined
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
  const { requestId, schema, resultSchema, tool, arguments: input, sensitive, toolArguments } = request as JsonObject
  const expiresAt = Date.parse(`${(request as JsonObject).expiresAt}`)
  return {
    ...(typeof requestId === 'string' && { requestId }),
    ...(isObject(schema) && { schema }),
    ...(isObject(resultSchema) && { resultSchema }),
    ...(typeof tool === 'string' && { tool }),
    ...(isObject(input) && { arguments: input }),
    ...(isObject(toolArguments) && { toolArguments }),
    ...(!Number.isNaN(expiresAt) && { expiresAt }),
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
  const old = index < 0 ? undefined : (conversation.entries[index] as ArtifactEntry & { readonly at?: number })
  const entry: ArtifactEntry = {
    ...(old ?? { type: 'artifact', id }),
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    parts: old && append ? joinParts(old.parts, parts) : joinParts([], parts),
    isComplete,
  }
  const timed = { ...entry, at: old?.at ?? Date.now() }
  const entries = old ? conversation.entries.with(index, timed) : [...conversation.entries, timed]
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
  const entries = conversation.entries.map((entry): Entry => {
    if (entry.type === 'artifact' && !entry.isComplete) return { ...entry, isComplete: true }
    return entry.type === 'work' && entry.state === 'running' ? { ...entry, state: 'unknown' } : entry
  })
  return { ...conversation, entries }
}

/** Adds an entry, or replaces the one with the same id. */
export function withEntry<T extends { readonly entries: readonly Entry[] }>(conversation: T, entry: Entry): T {
  const index = conversation.entries.findIndex(({ id, type }) => id === entry.id && type === entry.type)
  const timed = { ...entry, at: conversation.entries[index]?.at ?? Date.now() }
  const entries = index < 0 ? [...conversation.entries, timed] : conversation.entries.with(index, timed)
  return { ...conversation, entries }
}
