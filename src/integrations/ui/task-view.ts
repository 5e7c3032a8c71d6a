import { defined, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import type { ClientEvent } from '../../core/client/events.ts'
import type { ArtifactEvent } from '../../core/protocol/events.ts'
import { toolResult, toolUse } from '../../core/protocol/extensions/client-tools.ts'
import { progressKey } from '../../core/protocol/extensions/progress.ts'
import {
  type Message,
  type Part,
  type Task,
  type TaskState,
  type TaskStatus,
  textOf,
} from '../../core/protocol/model.ts'
import { isEnded, isInterrupted } from '../../core/protocol/states.ts'
import { type AgentQuestion, isWebUrl, readQuestion } from './questions.ts'

/** A piece of what an agent said or did, in the order in which it appeared. */
export type ViewPart =
  | {
      readonly type: 'text'
      readonly id: string
      readonly source: string
      readonly text: string
      /** The name of its artifact. */
      readonly name?: string
      readonly mediaType?: string
      readonly isComplete: boolean
    }
  | { readonly type: 'reasoning'; readonly id: string; readonly text: string }
  | ToolView
  | {
      readonly type: 'file'
      readonly id: string
      readonly source: string
      /** An http, https or data URL. */
      readonly url: string
      /** Empty if the agent does not name it. */
      readonly mediaType: string
      readonly name?: string
    }
  | { readonly type: 'data'; readonly id: string; readonly source: string; readonly data: Json; readonly name?: string }
  | { readonly type: 'question'; readonly id: string; readonly question: AgentQuestion; readonly isOpen: boolean }

/** A tool that the agent called. */
export interface ToolView {
  readonly type: 'tool'
  readonly id: string
  readonly name: string
  readonly state: 'called' | 'working' | 'done' | 'failed'
  /** JSON, or as much of it as a text as the agent shows. */
  readonly input?: Json
  readonly result?: Json
}

/** A task as a front end shows it: the fold of its events. */
export interface TaskView {
  readonly taskId?: string
  readonly contextId?: string
  readonly state?: TaskState
  /** The number of the last event. */
  readonly generation: number
  /** Whether the agent resumes streams exactly, after any event. */
  readonly isExact?: boolean
  /** Whether the view holds the whole task, and not only what followed an event. */
  readonly isWhole?: boolean
  readonly parts: readonly ViewPart[]
  /** What the agent is doing, in its words. */
  readonly progress?: string
  /** What the task waits for. */
  readonly question?: AgentQuestion
  /** Why the task failed, for people. */
  readonly problem?: string
}

/** The source of parts that are in a message, and in no artifact, begins so. */
const messageSource = 'message/'

export function isOfArtifact(part: ViewPart): part is Extract<ViewPart, { readonly source: string }> {
  return 'source' in part && !part.source.startsWith(messageSource)
}

/** The parts of a message, such as one of the person. */
export function viewOf(message: Message): readonly ViewPart[] {
  return withMessage([], message)
}

export const emptyView: TaskView = { generation: 0, parts: [] }

/** The view after an event. A task as a whole replaces its artifacts, so nothing is shown twice. */
export function applyEvent(view: TaskView, event: ClientEvent): TaskView {
  if (event.type === 'message') {
    const { contextId = view.contextId } = event.message
    const parts = completeParts(withMessage(view.parts, event.message))
    return { ...view, ...defined({ contextId }), state: 'completed', parts }
  }
  const isExact = view.isExact || event.follows !== undefined
  const { contextId, generation } = event.type === 'task' ? event.task : event
  const taskId = event.type === 'task' ? event.task.id : event.taskId
  const next = { ...view, taskId, contextId, generation, isExact }
  switch (event.type) {
    case 'artifact':
      return { ...next, parts: withArtifact(view.parts, event) }
    case 'status':
      return applyStatus(next, event.status, event)
    case 'task': {
      const { artifacts, status } = event.task
      const parts = artifacts.reduce((list, artifact) => withArtifact(list, { artifact }), view.parts)
      return applyStatus({ ...next, parts, isWhole: true }, status, event, event.task)
    }
  }
}

type StatusSource = Pick<ClientEvent, 'authRequired'> & { readonly metadata?: JsonObject }

function applyStatus(view: TaskView, status: TaskStatus, event: StatusSource, task?: Task): TaskView {
  const { state, message } = status
  const { progress: _, question: __, problem: ___, ...rest } = view
  const parts = closeQuestions(view.parts)
  const next: TaskView = { ...rest, state, parts }
  const text = message ? textOf(message) : ''
  if (isInterrupted(state)) {
    const question = readQuestion(status, view.taskId ?? '', event.authRequired)
    const spoken = message && { ...message, parts: text === '' ? [] : [{ text }] }
    const part: ViewPart = { type: 'question', id: question.id, question, isOpen: true }
    return { ...next, question, parts: withPart(completeParts(withMessage(parts, spoken)), part) }
  }
  if (!isEnded(state)) return withProgress(next, message, text, event.metadata)
  if (state !== 'completed' && state !== 'canceled') {
    return { ...next, parts: completeParts(parts), problem: text || `Task ${state}.` }
  }
  const ended = completeParts(withMessage(parts, message))
  const isSilent = state === 'completed' && !ended.some((part) => 'source' in part)
  return { ...next, parts: isSilent ? withMessage(ended, lastMessageOf(view, task)) : ended }
}

/** Some agents put their answer into the history, or into a status before the last one. */
function lastMessageOf({ progress: text, taskId = '' }: TaskView, task: Task | undefined): Message | undefined {
  const message = task?.history.findLast(({ role }) => role === 'agent')
  return message ?? (text ? { messageId: taskId, role: 'agent', parts: [{ text }] } : undefined)
}

/** A status of a working agent: what it does, thinks, or calls. */
function withProgress(
  view: TaskView,
  message: Message | undefined,
  text: string,
  metadata: JsonObject | undefined,
): TaskView {
  const details = metadata?.[progressKey] ?? message?.metadata?.[progressKey]
  if (!isObject(details)) return text === '' ? view : { ...view, progress: text }
  if (details.type === 'reasoning') {
    return { ...view, parts: withReasoning(view.parts, typeof details.text === 'string' ? details.text : text) }
  }
  const { tool, toolCallId } = details
  if (typeof tool !== 'string' || typeof toolCallId !== 'string') return view
  const part = { type: 'tool' as const, id: toolCallId, name: tool, ...toolChange(details, message, text) }
  return { ...view, parts: withPart(view.parts, part) }
}

type ToolChange = Pick<ToolView, 'state' | 'input' | 'result'>

/** Adapters of frameworks report calls in the metadata, the loop in parts. */
function toolChange({ state, input, result }: JsonObject, message: Message | undefined, text: string): ToolChange {
  const named = (['called', 'working', 'done', 'failed'] as const).find((each) => each === state)
  if (named) return defined({ state: named, input, result })
  for (const part of message?.parts ?? []) {
    const data = 'data' in part && isObject(part.data) ? part.data : {}
    if (part.mediaType === toolUse) return defined({ state: 'called', input: data.arguments })
    if (part.mediaType === toolResult) return defined({ state: data.isError ? 'failed' : 'done', result: data.result })
  }
  return { state: 'working', result: text }
}

/** Reasoning is one part until something else follows it. */
function withReasoning(parts: readonly ViewPart[], text: string): readonly ViewPart[] {
  const last = parts.at(-1)
  if (last?.type === 'reasoning') return parts.with(-1, { ...last, text: last.text + text })
  return text === '' ? parts : [...parts, { type: 'reasoning', id: `reasoning-${parts.length}`, text }]
}

/** Adds a part, or changes the one with the same id where it is. */
function withPart(parts: readonly ViewPart[], part: ViewPart): readonly ViewPart[] {
  const index = parts.findIndex(({ id, type }) => id === part.id && type === part.type)
  return index < 0 ? [...parts, part] : parts.with(index, { ...parts[index], ...part })
}

/** The parts of a message, unless an artifact has said the same: many agents repeat their answer in the last status. */
function withMessage(parts: readonly ViewPart[], message: Message | undefined): readonly ViewPart[] {
  if (!message) return parts
  const artifactId = messageSource + message.messageId
  const text = textOf(message).trim()
  const texts = parts.flatMap((part) => (part.type === 'text' && part.source !== artifactId ? [part.text] : []))
  const isRepeated = [...texts, texts.join(''), texts.join('\n')].some((shown) => shown.trim() === text)
  const content = message.parts.filter((part) => !isRepeated || !('text' in part))
  // The parts of a message are paragraphs; only artifacts come in pieces.
  return withArtifact(parts, { artifact: { artifactId, parts: content }, lastChunk: true }, '\n')
}

function withArtifact(
  parts: readonly ViewPart[],
  { artifact, append, lastChunk }: Pick<ArtifactEvent, 'artifact' | 'append' | 'lastChunk'>,
  separator = '',
): readonly ViewPart[] {
  const { artifactId: source, name } = artifact
  const own = parts.filter((part) => 'source' in part && part.source === source)
  const content = append ? own : []
  for (const part of artifact.parts) {
    const last = content.at(-1)
    const isText = 'text' in part
    if (isText && part.text === '') continue
    if (isText && last?.type === 'text' && last.mediaType === part.mediaType) {
      content[content.length - 1] = { ...last, text: last.text + separator + part.text, isComplete: false }
    } else content.push(toViewPart(part, { id: `${source}/${content.length}`, source, name: part.filename ?? name }))
  }
  const changed = lastChunk === true ? content.map(completePart) : content
  // Known parts stay where they are; parts that the new artifact lacks go.
  const byId = new Map(changed.map((part) => [part.id, part]))
  const kept = parts.flatMap((part) => {
    if (!('source' in part) || part.source !== source) return [part]
    const next = byId.get(part.id)
    byId.delete(part.id)
    return next ? [next] : []
  })
  return [...kept, ...byId.values()]
}

interface PartNames {
  readonly id: string
  readonly source: string
  readonly name: string | undefined
}

function toViewPart(part: Part, names: PartNames): ViewPart {
  const { mediaType = '' } = part
  if ('text' in part) {
    return defined({ type: 'text', ...names, text: part.text, mediaType: part.mediaType, isComplete: false })
  }
  if ('data' in part) return defined({ type: 'data', ...names, data: part.data })
  const url = 'raw' in part ? `data:${mediaType};base64,${part.raw}` : part.url
  // Nobody should follow the link of a foreign scheme, such as `javascript:`.
  const isSafe = 'raw' in part || isWebUrl(url)
  return defined(isSafe ? { type: 'file', ...names, url, mediaType } : { type: 'data', ...names, data: { url } })
}

function completePart(part: ViewPart): ViewPart {
  return part.type === 'text' && !part.isComplete ? { ...part, isComplete: true } : part
}

function completeParts(parts: readonly ViewPart[]): readonly ViewPart[] {
  return parts.map(completePart)
}

function closeQuestions(parts: readonly ViewPart[]): readonly ViewPart[] {
  return parts.map((part) => (part.type === 'question' && part.isOpen ? { ...part, isOpen: false } : part))
}
