import type { Json, JsonObject } from '../core/base/json.ts'
import { encodeEvent, encodeResult } from '../core/dialects/v1.0/encode.ts'
import { stateNames } from '../core/dialects/v1.0/schemas.ts'
import { inputRequestIn } from '../core/protocol/extensions/client-tools.ts'
import type { Outcome } from '../core/protocol/service.ts'
import type { Artifact, ClientEvent, Message, Part, Task, TaskPage, TaskState } from '../entries/client.ts'
import { renderMarkdown } from './chat/markdown.ts'
import type { Output } from './output.ts'
import { stateFormat } from './table.ts'

/** The metadata of a task whose agent does not say its state. */
const stateKey = 'a2a.state'

const unspecified = 'TASK_STATE_UNSPECIFIED'

/** The state as A2A names it. */
export function stateName({ status: { state }, metadata }: Pick<Task, 'status' | 'metadata'>): string {
  return state === 'unknown' || metadata?.[stateKey] === unspecified ? unspecified : stateNames[state]
}

/** The state of a name such as `working` or `TASK_STATE_WORKING`. */
export function readState(text: string): TaskState | undefined {
  const name = text
    .toUpperCase()
    .replaceAll('-', '_')
    .replace(/^(TASK_STATE_)?/, 'TASK_STATE_')
  const states = Object.keys(stateNames) as (keyof typeof stateNames)[]
  return states.find((state) => stateNames[state] === name)
}

/** Whether the task has ended or waits for the caller. A task without a state has not. */
export function isSettled(task: Pick<Task, 'status' | 'metadata'>): boolean {
  const { state } = task.status
  return stateName(task) !== unspecified && state !== 'submitted' && state !== 'working'
}

/**
 * Reads a stream until its task has ended or waits for the caller: agents may keep the stream open then. If the message
 * continues a task, the first event may show the task as it was before.
 */
export async function* untilInterrupted(
  events: AsyncGenerator<ClientEvent>,
  { continues = false }: { readonly continues?: boolean } = {},
): AsyncGenerator<ClientEvent> {
  let isStale = continues
  for await (const event of events) {
    yield event
    if (isInterrupting(event) && !(isStale && event.type === 'task')) return
    isStale = false
  }
}

function isInterrupting(event: ClientEvent): boolean {
  if (event.type === 'message' || event.type === 'artifact') return false
  const { state } = event.type === 'task' ? event.task.status : event.status
  return state === 'input-required' || state === 'auth-required'
}

/** The answer of the agent as text: the ids and the state, what the agent says, and every part of every artifact. */
export function printReply(reply: Outcome, output: Output): void {
  if (reply.type === 'task') printTask(reply.task, output)
  else printMessage(reply.message, output)
}

export function printMessage({ contextId, taskId, messageId, parts }: Message, output: Output): void {
  if (contextId) output.field('Context', contextId)
  if (taskId) output.field('Task', taskId)
  output.field('Message ID', messageId)
  printParts('Message', parts, output)
}

export function printTask(task: Task, output: Output): void {
  printTaskHead(task, output)
  if (task.status.message) printParts('Message', task.status.message.parts, output)
  for (const artifact of task.artifacts) printArtifact(artifact, output)
}

export function printTaskHead(task: Task, output: Output): void {
  output.field('Task', task.id)
  output.field('Context', task.contextId || '(none)')
  output.field('State', stateName(task), stateFormat(stateName(task)))
}

export function printArtifact({ artifactId, name, description, parts }: Artifact, output: Output): void {
  output.field('Artifact', name === undefined || name === artifactId ? artifactId : `${artifactId} (${name})`)
  if (description) output.field('Description', description)
  printParts('Text', parts, output)
}

export function printHistory(messages: readonly Message[], output: Output): void {
  for (const { role, messageId, parts } of messages) {
    output.field('History', `${role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT'} ${messageId}`)
    printParts('Text', parts, output)
  }
}

/** Text as text, data as JSON, and files by name, type and size. `label` names the text. */
export function printParts(label: string, parts: readonly Part[], output: Output): void {
  let text = ''
  const flush = () => {
    if (text !== '') printText(label, text, output)
    text = ''
  }
  for (const part of parts) {
    if ('text' in part) {
      text += part.text
      continue
    }
    flush()
    if ('data' in part) output.field('Data', JSON.stringify(part.data, undefined, 2))
    else output.field('File', describeFile(part))
  }
  flush()
}

/** Text of an agent: as it is, or rendered as Markdown for a person. */
function printText(label: string, text: string, output: Output): void {
  if (!output.isTerminal) {
    output.field(label, text)
    return
  }
  const rendered = renderMarkdown(text.replace(/\n+$/, ''), output.style)
  const name = output.style(`${label}:`, 'bold')
  output.print(rendered.includes('\n') ? `${name}\n${rendered}\n` : `${name} ${rendered}`)
}

export function describeFile(part: Extract<Part, { raw: string } | { url: string }>): string {
  const { filename, mediaType } = part
  const facts = [
    mediaType ?? 'unknown type',
    ...('raw' in part ? [`${Buffer.byteLength(part.raw, 'base64')} bytes`] : []),
  ]
  return `${filename ?? '(no name)'} (${facts.join(', ')})${'url' in part ? ` ${part.url}` : ''}`
}

/** What the user can do next, for stderr. */
export function nextSteps(task: Task, reference: string): readonly string[] {
  const agent = `--agent-card ${quote(reference)}`
  const id = quote(task.id)
  const request = inputRequestIn(task.status.message)
  switch (task.status.state) {
    case 'input-required':
      return [
        `The agent needs an answer${request?.sensitive === true ? ', which it does not store' : ''}. Continue with:`,
        `  parley send ${agent} --task-id ${id} --text "…"`,
      ]
    case 'auth-required':
      return [
        'The agent needs authorization. Grant it as the message says, then look at the task, or continue it:',
        `  parley task get ${id} ${agent} --wait`,
        `  parley send ${agent} --task-id ${id} --text "…"`,
      ]
    case 'failed':
    case 'rejected':
    case 'canceled':
      return [`The task ended as ${stateName(task)}.`]
    case 'submitted':
    case 'working':
      return [`The task is still running. Look at it with:`, `  parley task get ${id} ${agent} --wait`]
    case 'completed':
    case 'unknown':
      return []
  }
}

/** A word as shells read it. */
export function quote(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** A reply as `SendMessageResponse`. */
export function replyJson(reply: Outcome): JsonObject {
  return reply.type === 'task'
    ? { task: taskJson(reply.task) }
    : encodeResult.sendMessage({ type: 'message', message: reply.message })
}

/** A task as `Task`. */
export function taskJson(task: Task): JsonObject {
  return withUnspecified(encodeResult.getTask(task))
}

/** An event as `StreamResponse`. */
export function eventJson(event: ClientEvent): JsonObject {
  const [wire = {}] = encodeEvent(event)
  const { task, statusUpdate } = wire
  if (task) return { task: withUnspecified(task as JsonObject) }
  return statusUpdate ? { statusUpdate: withUnspecified(statusUpdate as JsonObject) } : wire
}

/** A page as `ListTasksResponse`. */
export function pageJson(page: TaskPage): JsonObject {
  return { ...(encodeResult.listTasks(page) as JsonObject), tasks: page.tasks.map(taskJson) }
}

/** A state that the agent left open is printed as it was received. */
function withUnspecified(wire: JsonObject): JsonObject {
  const { metadata, status } = wire as { metadata?: JsonObject; status?: JsonObject }
  if (metadata?.[stateKey] !== unspecified || !status) return wire
  const { [stateKey]: _, ...rest } = metadata
  const { metadata: __, ...others } = wire
  const json: Record<string, Json> = { ...others, status: { ...status, state: unspecified } }
  if (Object.keys(rest).length > 0) json.metadata = rest
  return json
}
