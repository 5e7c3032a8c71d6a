import { defined, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import type { ClientEvent } from '../../core/client/reply.ts'
import type { ArtifactEvent } from '../../core/protocol/events.ts'
import { toolResult, toolUse } from '../../core/protocol/extensions/client-tools.ts'
import { progressKey } from '../../core/protocol/extensions/progress.ts'
import { type Message, type Part, type Task, type TaskState, type TaskStatus, textOf } from '../../core/protocol/model.ts'
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
  | { readonly type: 'reasoning'; readonly id: string; readonly text: string; readonly isComplete: boolean }
  | ToolView
  | {
      readonly type: 'file'
      readonly id: string
      readonly source: string
      /** An http, https or data URL. */
      readonly url: string
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
  readonly isExact: boolean
  /** Whether the view holds the whole task, and not only what followed an event. */
  readonly isWhole: boolean
  readonly parts: readonly ViewPart[]
  /** What the agent is doing, in its words. */
  readonly progress?: string
  /** What the task waits for. */
  readonly question?: AgentQuestion
  /** Why the task failed, for people. */
  readonly problem?: string
}

export const emptyView: TaskView = { generation: 0, isExact: false, isWhole: false, parts: [] }

/** The view after an event. A task as a whole replaces its artifacts, so nothing is shown twice. */
export function applyEvent(view: TaskView, event: ClientEvent): TaskView {
  const isExact = view.isExact || event.follows !== undefined
  switch (event.type) {
    case 'message': {
      const { message } = event
      const parts = withMessage(view.parts, message)
      const { contextId = view.contextId } = message
      return { ...view, ...defined({ contextId }), state: 'completed', parts: completeParts(parts) }
    }
    case 'task': {
      const { id: taskId, contextId, generation, artifacts } = event.task
      const parts = artifacts.reduce((list, artifact) => withArtifact(list, { artifact }), view.parts)
      const next = { ...view, taskId, contextId, generation, isExact, isWhole: true, parts }
      return applyStatus(next, event.task.status, event, event.task)
    }
    case 'status': {
      const { taskId, contextId, generation, status } = event
      return applyStatus({ ...view, taskId, contextId, generation, isExact }, status, event)
    }
    case 'artifact': {
      const { taskId, contextId, generation } = event
      return { ...view, taskId, contextId, generation, isExact, parts: withArtifact(view.parts, event) }
    }
  }
}

type StatusSource = Pick<ClientEvent, 'authRequired'> & { readonly metadata?: JsonObject }

function applyStatus(view: TaskView, status: TaskStatus, event: StatusSource, task?: Task): TaskView {
  const { state, message } = status
  const { progress: _, question: __, problem: ___, ...rest } = view
  const next: TaskView = { ...rest, state, parts: closeQuestions(view.parts) }
  if (isInterrupted(state)) {
    const question = readQuestion(status, view.taskId ?? '', event.authRequired)
    const spoken = message ? { ...message, parts: message.parts.filter((part) => 'text' in part) } : undefined
    const parts = spoken ? withMessage(next.parts, spoken) : next.parts
    const part: ViewPart = { type: 'question', id: question.id, question, isOpen: true }
    return { ...next, question, parts: withPart(completeParts(parts), part) }
  }
  if (!isEnded(state)) return withProgress(next, message, event.metadata)
  const text = message ? textOf(message) : ''
  if (state === 'failed' || state === 'rejected' || state === 'unknown') {
    return { ...next, parts: failTools(completeParts(next.parts)), problem: text || problems[state] }
  }
  const spoken = message && withMessage(next.parts, message)
  const parts = completeParts(spoken ?? next.parts)
  if (state === 'canceled') return { ...next, parts: failTools(parts) }
  return { ...next, parts: parts.some(isContent) ? parts : withMessage(parts, lastMessageOf(view, task)) }
}

const problems = {
  failed: 'The agent failed and did not say why.',
  rejected: 'The agent refused this request and did not say why.',
  unknown: 'The agent lost track of this task.',
} as const satisfies Partial<Record<TaskState, string>>

function isContent({ type }: ViewPart): boolean {
  return type === 'text' || type === 'file' || type === 'data'
}

/** Some agents put their answer into the history, or into a status before the last one. */
function lastMessageOf({ progress, taskId = '' }: TaskView, task: Task | undefined): Message | undefined {
  const message = task?.history.findLast(({ role }) => role === 'agent')
  if (message || progress === undefined) return message
  return { messageId: `answer-${taskId}`, role: 'agent', parts: [{ text: progress }] }
}

/** A status of a working agent: what it does, thinks, or calls. */
function withProgress(view: TaskView, message: Message | undefined, metadata: JsonObject | undefined): TaskView {
  const details = metadata?.[progressKey] ?? message?.metadata?.[progressKey]
  const text = message ? textOf(message) : ''
  if (!isObject(details)) return text === '' ? view : { ...view, progress: text }
  if (details.type === 'reasoning') {
    return { ...view, parts: withReasoning(view.parts, typeof details.text === 'string' ? details.text : text) }
  }
  const { tool, toolCallId } = details
  if (typeof tool !== 'string' || typeof toolCallId !== 'string') return view
  return { ...view, parts: withTool(view.parts, toolCallId, tool, toolChange(details, message)) }
}

type ToolChange = Pick<ToolView, 'state' | 'input' | 'result'>

/** Adapters of frameworks report calls in the metadata, the loop in parts. */
function toolChange({ state, input, result }: JsonObject, message: Message | undefined): ToolChange {
  const states = ['called', 'working', 'done', 'failed'] as const
  const named = states.find((each) => each === state)
  if (named) return defined({ state: named, input: parsed(input), result: parsed(result) })
  for (const part of message?.parts ?? []) {
    if (!('data' in part) || !isObject(part.data)) continue
    if (part.mediaType === toolUse) return defined({ state: 'called', input: part.data.arguments })
    const isFailed = part.data.isError === true
    if (part.mediaType === toolResult) return { state: isFailed ? 'failed' : 'done', result: part.data.result ?? null }
  }
  return { state: 'working', result: message ? textOf(message) : '' }
}

/** JSON in a text, or the text. */
function parsed(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function withTool(parts: readonly ViewPart[], id: string, name: string, change: ToolChange): readonly ViewPart[] {
  const earlier = parts.find((part) => part.type === 'tool' && part.id === id) as ToolView | undefined
  return withPart(completeReasoning(parts), { ...earlier, type: 'tool', id, name, ...change })
}

function withReasoning(parts: readonly ViewPart[], text: string): readonly ViewPart[] {
  if (text === '') return parts
  const last = parts.at(-1)
  if (last?.type === 'reasoning' && !last.isComplete) return parts.with(-1, { ...last, text: last.text + text })
  const id = `reasoning-${parts.filter(({ type }) => type === 'reasoning').length + 1}`
  return [...parts, { type: 'reasoning', id, text, isComplete: false }]
}

/** Adds a part, or replaces the one with the same id where it is. */
function withPart(parts: readonly ViewPart[], part: ViewPart): readonly ViewPart[] {
  const index = parts.findIndex(({ id, type }) => id === part.id && type === part.type)
  return index < 0 ? [...parts, part] : parts.with(index, part)
}

/** The parts of a message, unless an artifact has said the same: many agents repeat their answer in the last status. */
function withMessage(parts: readonly ViewPart[], message: Message | undefined): readonly ViewPart[] {
  if (!message) return parts
  const { messageId, parts: content } = message
  const text = textOf(message).trim()
  const isRepeated = text !== '' && textsOf(parts, messageId).includes(text)
  const added = isRepeated ? content.filter((part) => !('text' in part)) : content
  return withArtifact(parts, { artifact: { artifactId: messageId, parts: separateTexts(added) }, lastChunk: true })
}

/** The parts of a message are paragraphs; only artifacts come in pieces. */
function separateTexts(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if ('text' in part && last && 'text' in last) joined[joined.length - 1] = { text: `${last.text}\n${part.text}` }
    else joined.push(part)
  }
  return joined
}

/** The text of each source but one, and of all together. */
function textsOf(parts: readonly ViewPart[], except: string): readonly string[] {
  const bySource = new Map<string, string>()
  for (const part of parts) {
    if (part.type !== 'text' || part.source === except) continue
    bySource.set(part.source, (bySource.get(part.source) ?? '') + part.text)
  }
  const texts = [...bySource.values()]
  return [...texts, texts.join('\n')].map((text) => text.trim())
}

function withArtifact(
  parts: readonly ViewPart[],
  { artifact, append, lastChunk }: Pick<ArtifactEvent, 'artifact' | 'append' | 'lastChunk'>,
): readonly ViewPart[] {
  const { artifactId: source, name } = artifact
  const own = parts.filter((part) => 'source' in part && part.source === source)
  const content = append ? own.slice() : []
  for (const part of artifact.parts) {
    const last = content.at(-1)
    const isText = 'text' in part
    if (isText && part.text === '') continue
    if (isText && last?.type === 'text' && last.mediaType === part.mediaType) {
      content[content.length - 1] = { ...last, text: last.text + part.text, isComplete: false }
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
  return byId.size === 0 ? kept : [...completeReasoning(kept), ...byId.values()]
}

interface PartNames {
  readonly id: string
  readonly source: string
  readonly name: string | undefined
}

function toViewPart(part: Part, names: PartNames): ViewPart {
  if ('text' in part) {
    return defined({ type: 'text', ...names, text: part.text, mediaType: part.mediaType, isComplete: false })
  }
  if ('data' in part) return defined({ type: 'data', ...names, data: part.data })
  const mediaType = part.mediaType ?? 'application/octet-stream'
  if ('raw' in part) return defined({ type: 'file', ...names, url: `data:${mediaType};base64,${part.raw}`, mediaType })
  if (isWebUrl(part.url)) return defined({ type: 'file', ...names, url: part.url, mediaType })
  // Nobody should follow the link of a foreign scheme, such as `javascript:`.
  return defined({ type: 'data', ...names, data: { url: part.url, mediaType } })
}

function completePart(part: ViewPart): ViewPart {
  const isOpen = (part.type === 'text' || part.type === 'reasoning') && !part.isComplete
  return isOpen ? { ...part, isComplete: true } : part
}

function completeParts(parts: readonly ViewPart[]): readonly ViewPart[] {
  return parts.map(completePart)
}

function completeReasoning(parts: readonly ViewPart[]): readonly ViewPart[] {
  const last = parts.at(-1)
  return last?.type === 'reasoning' && !last.isComplete ? parts.with(-1, { ...last, isComplete: true }) : parts
}

function closeQuestions(parts: readonly ViewPart[]): readonly ViewPart[] {
  if (!parts.some((part) => part.type === 'question' && part.isOpen)) return parts
  return parts.map((part) => (part.type === 'question' ? { ...part, isOpen: false } : part))
}

/** A task that ended early leaves no tool running. */
function failTools(parts: readonly ViewPart[]): readonly ViewPart[] {
  const isRunning = (part: ViewPart) => part.type === 'tool' && (part.state === 'called' || part.state === 'working')
  return parts.map((part) =>
    isRunning(part) ? { ...(part as ToolView), state: 'failed', result: 'The task ended before the tool did.' } : part,
  )
}
