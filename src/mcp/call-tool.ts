import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  RequestStateCodec,
  ServerContext,
} from '@modelcontextprotocol/server'
import type { JsonObject } from '../base/json.ts'
import { readTrace, type Trace, traceHeaders } from '../base/trace-context.ts'
import { outputOf } from '../client/call-skill.ts'
import { type Reply, toReply } from '../client/reply.ts'
import type { SendOptions } from '../client/send-request.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Part, type Task, textOf } from '../protocol/model.ts'
import type { Outcome } from '../protocol/service.ts'
import { answerOf, followTask, type Question, questionIn, textForm } from './follow-task.ts'
import type { SkillTool } from './skill-tools.ts'

/** What comes back with the answer to a question. It is signed: who holds it can neither read nor change it unseen. */
export interface Asked {
  readonly tool: string
  readonly taskId: string
  readonly requestId?: string
  readonly isForm: boolean
  /** Of the message that answers: an answer that is sent twice is one. */
  readonly messageId: string
}

export interface ToolCall {
  readonly tool: SkillTool
  readonly answerTool: string
  readonly given: JsonObject
  readonly context: ServerContext
  readonly capabilities: ClientCapabilities | undefined
  readonly mcp: typeof import('@modelcontextprotocol/server')
  readonly state: RequestStateCodec<Asked>
  readonly maxResult: number
  readonly onError: (error: unknown) => void
}

/** Has an agent do what a tool of MCP is called for. Whatever goes wrong is a result. */
export async function callTool(call: ToolCall): Promise<Result> {
  const { tool, given, context, mcp, onError } = call
  const { signal } = context.mcpReq
  try {
    const asked = context.mcpReq.requestState<Asked>()
    if (asked) return await goOn(call, asked)
    const taskId = tool.skill === undefined ? `${given.taskId}` : undefined
    if (taskId === undefined)
      return await follow(call, tool.toInput(given), { ...(tool.skill && { skill: tool.skill }) })
    const { status } = await tool.client.task(taskId).get({ signal })
    const { requestId } = questionIn(status.message)
    return await follow(call, answerOf(`${given.answer}`, requestId), { taskId })
  } catch (error) {
    if (error instanceof mcp.ProtocolError) throw error
    onError(error)
    return failureOf(error)
  }
}

type Result = CallToolResult | InputRequiredResult

/** The person has answered, or not. */
async function goOn(call: ToolCall, asked: Asked): Promise<Result> {
  const { tool, context, mcp } = call
  if (asked.tool !== tool.name) return failed('The answer is for another tool.')
  const { taskId, requestId, isForm, messageId } = asked
  const answer = mcp.inputResponse(context.mcpReq.inputResponses, 'answer')
  if (answer.kind !== 'elicit' || answer.action !== 'accept') {
    await tool.client
      .task(taskId)
      .cancel()
      .catch(() => {})
    return failed('The question of the agent was not answered, and its task is canceled.')
  }
  const content = (answer.content ?? {}) as JsonObject
  const said = isForm ? content : (content.answer ?? '')
  return await follow(call, answerOf(said, requestId), { taskId, messageId })
}

/** Errors are results: the model can put them right, or tell the user. */
function failed(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

async function follow(
  call: ToolCall,
  input: Parameters<typeof followTask>[0]['input'],
  options: SendOptions,
): Promise<Result> {
  const { tool, context } = call
  const { signal, notify, _meta } = context.mcpReq
  const progressToken = _meta?.progressToken
  let progress = 0
  const onProgress = (message: string) => {
    if (progressToken === undefined) return
    const params = { progressToken, progress: ++progress, message: message.slice(0, 1_000) }
    // Who has left needs no progress.
    void notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  const headers = traceHeaders(traceIn(_meta))
  const outcome = await followTask({ client: tool.client, input, options: { ...options, headers }, signal, onProgress })
  return outcome.type === 'message' ? await bounded(outcome, call) : await resultOf(outcome.task, call)
}

/** Where MCP has the trace of a caller. */
function traceIn(meta: Readonly<Record<string, unknown>> | undefined): Trace | undefined {
  const word = (name: string) => (typeof meta?.[name] === 'string' ? meta[name] : undefined)
  return readTrace(word('traceparent'), () => word('tracestate'))
}

async function bounded(outcome: Outcome, { tool, maxResult }: ToolCall): Promise<CallToolResult> {
  const result = await toResult(outcome, tool.skill, tool.output !== undefined)
  const { length } = JSON.stringify(result)
  if (length <= maxResult) return result
  return failed(`The result has ${length} bytes, more than ${maxResult}: ask the agent for less.`)
}

/** What an agent has answered, or the artifacts and the last word of a task that is completed. */
async function toResult(outcome: Outcome, skill: string | undefined, isTyped: boolean): Promise<CallToolResult> {
  const reply = await toReply(outcome)
  const content = partsOf(reply).map(({ part, place }) => toBlock(part, place))
  const { taskId, contextId } = placeOf(reply)
  const about = { content, _meta: { ...(taskId && { taskId }), ...(contextId && { contextId }) } }
  if (!isTyped) return about
  return { ...about, structuredContent: outputOf(reply, skill ?? '') }
}

function partsOf(reply: Reply): readonly { readonly part: Part; readonly place: string }[] {
  if (reply.type === 'message') return reply.message.parts.map((part, at) => ({ part, place: `message/${at}` }))
  const { id, artifacts, status } = reply.task
  const written = artifacts.flatMap(({ artifactId, parts }) =>
    joined(parts).map((part, at) => ({ part, place: `${id}/${artifactId}/${at}` })),
  )
  const said = (status.message?.parts ?? []).map((part, at) => ({ part, place: `${id}/status/${at}` }))
  return [...written, ...said]
}

/** Chunks of one text as one. */
function joined(parts: readonly Part[]): readonly Part[] {
  const whole: Part[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    if ('text' in part && last && 'text' in last) whole[whole.length - 1] = { ...last, text: last.text + part.text }
    else whole.push(part)
  }
  return whole
}

function toBlock(part: Part, place: string): Block {
  const { mediaType, filename } = part
  if ('text' in part) return { type: 'text', text: part.text }
  if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
  const mime = mediaType === undefined ? {} : { mimeType: mediaType }
  if ('url' in part) return { type: 'resource_link', uri: part.url, name: filename ?? part.url, ...mime }
  if (mediaType?.startsWith('image/')) return { type: 'image', data: part.raw, mimeType: mediaType }
  if (mediaType?.startsWith('audio/')) return { type: 'audio', data: part.raw, mimeType: mediaType }
  const uri = `a2a:${place}${filename ? `/${encodeURIComponent(filename)}` : ''}`
  return { type: 'resource', resource: { uri, blob: part.raw, ...mime } }
}

type Block = CallToolResult['content'][number]

function placeOf(reply: Reply) {
  return { taskId: reply.task?.id, contextId: reply.contextId }
}

async function resultOf(task: Task, call: ToolCall): Promise<Result> {
  const { state, message } = task.status
  const said = message ? textOf(message) : ''
  switch (state) {
    case 'completed':
      return await bounded({ type: 'task', task }, call)
    case 'input-required':
      return await ask(task, questionIn(message), call)
    case 'auth-required':
      return failed(
        `The agent needs to be authorized first: ${said || 'it does not say how.'}\n` +
          `Then call ${call.answerTool} with taskId "${task.id}" and the answer "done".`,
      )
    case 'failed':
    case 'rejected':
    case 'canceled':
      return failed(said ? `The task is ${state}: ${said}` : `The task is ${state}.`)
    case 'submitted':
    case 'working':
      return failed(`The task ${task.id} is still ${state}.`)
  }
}

/** By a form of MCP if the other side can show one, else in words that say how to answer. */
async function ask({ id: taskId }: Task, question: Question, call: ToolCall): Promise<Result> {
  const { tool, answerTool, capabilities, context, mcp, state } = call
  const { text, form, requestId, isSensitive } = question
  if (isSensitive) {
    return failed(
      `The agent asks for something secret, which is not for tools: ${text}\nAnswer it at the agent: its task is ${taskId}.`,
    )
  }
  if (!canElicit(capabilities)) {
    return failed(`The agent asks: ${text}\nTo answer, call ${answerTool} with taskId "${taskId}" and the answer.`)
  }
  const asked: Asked = {
    tool: tool.name,
    taskId,
    ...(requestId !== undefined && { requestId }),
    isForm: form !== undefined,
    messageId: crypto.randomUUID(),
  }
  const elicit = mcp.inputRequired.elicit({ message: text, requestedSchema: form ?? textForm })
  return mcp.inputRequired({ inputRequests: { answer: elicit }, requestState: await state.mint(asked, context) })
}

/** An empty capability means forms (MCP 2025-06-18). */
function canElicit(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** Only what was written for callers is told. */
function failureOf(error: unknown): CallToolResult {
  if (!(error instanceof A2AError)) return failed('The agent could not be asked.')
  return failed([error.message, error.hint].filter(Boolean).join('\n'))
}
