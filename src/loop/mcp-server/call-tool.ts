import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  RequestStateCodec,
  ServerContext,
} from '@modelcontextprotocol/server'
import { defined, type JsonObject } from '../../core/base/json.ts'
import { readTrace, type Trace, traceHeaders } from '../../core/base/trace-context.ts'
import { outputOf } from '../../core/client/call-skill.ts'
import type { SendOptions } from '../../core/client/send-request.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import { joinTexts, type Part, type Task, textOf } from '../../core/protocol/model.ts'
import { type Reply, toReply } from '../../core/protocol/reply.ts'
import type { Outcome } from '../../core/protocol/service.ts'
import { type AgentQuestion, encodeAnswer, followTask, readQuestion, textForm } from './follow-task.ts'
import type { SkillTool } from './skill-tools.ts'

/** Request state that the client returns with the answer to a question. It is signed, so the client cannot change it. */
export interface PendingQuestion {
  readonly tool: string
  readonly taskId: string
  readonly requestId?: string
  readonly isForm: boolean
  /** Id of the answering message, so that an answer sent twice counts once. */
  readonly messageId: string
}

export interface ToolCall {
  readonly tool: SkillTool
  readonly answerTool: string
  readonly input: JsonObject
  readonly context: ServerContext
  readonly capabilities: ClientCapabilities | undefined
  readonly mcp: typeof import('@modelcontextprotocol/server')
  readonly state: RequestStateCodec<PendingQuestion>
  readonly maxResult: number
  readonly onError: (error: unknown) => void
}

/** Runs an MCP tool call by sending a message to the agent. Errors become results. */
export async function callTool(call: ToolCall): Promise<Result> {
  const { tool, input, context, mcp, onError } = call
  const { signal } = context.mcpReq
  try {
    const question = context.mcpReq.requestState<PendingQuestion>()
    if (question) return await resume(call, question)
    const taskId = tool.skill === undefined ? `${input.taskId}` : undefined
    if (taskId === undefined)
      return await follow(call, tool.toInput(input), defined({ skill: tool.skill || undefined }))
    const { status } = await tool.client.task(taskId).get({ signal })
    const { requestId } = readQuestion(status.message)
    return await follow(call, encodeAnswer(`${input.answer}`, requestId), { taskId })
  } catch (error) {
    if (error instanceof mcp.ProtocolError) throw error
    onError(error)
    return toFailure(error)
  }
}

type Result = CallToolResult | InputRequiredResult

/** Continues after the user has answered the question, or has declined to. */
async function resume(call: ToolCall, question: PendingQuestion): Promise<Result> {
  const { tool, context, mcp } = call
  if (question.tool !== tool.name) return failed('The answer is for another tool.')
  const { taskId, requestId, isForm, messageId } = question
  const response = mcp.inputResponse(context.mcpReq.inputResponses, 'answer')
  if (response.kind !== 'elicit' || response.action !== 'accept') {
    await tool.client
      .task(taskId)
      .cancel()
      .catch(() => {})
    return failed("The agent's question was not answered, so its task is canceled.")
  }
  const content = (response.content ?? {}) as JsonObject
  const answer = isForm ? content : (content.answer ?? '')
  return await follow(call, encodeAnswer(answer, requestId), { taskId, messageId })
}

/** Errors are results, so that the model can correct its call or inform the user. */
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
    // The client may have disconnected.
    void notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  const headers = traceHeaders(traceOf(_meta))
  const outcome = await followTask({ client: tool.client, input, options: { ...options, headers }, signal, onProgress })
  return outcome.type === 'message' ? await limitedResult(outcome, call) : await toolResultOf(outcome.task, call)
}

/** MCP carries the trace context in _meta. */
function traceOf(meta: Readonly<Record<string, unknown>> | undefined): Trace | undefined {
  const field = (name: string) => (typeof meta?.[name] === 'string' ? meta[name] : undefined)
  return readTrace(field('traceparent'), () => field('tracestate'))
}

async function limitedResult(outcome: Outcome, { tool, maxResult }: ToolCall): Promise<CallToolResult> {
  const result = await toResult(outcome, tool.skill, tool.output !== undefined)
  const { length } = JSON.stringify(result)
  if (length <= maxResult) return result
  return failed(`The result has ${length} bytes, more than ${maxResult}: ask the agent for less.`)
}

/** Converts the reply message, or the artifacts and the last message of a completed task. */
async function toResult(outcome: Outcome, skill: string | undefined, isTyped: boolean): Promise<CallToolResult> {
  const reply = await toReply(outcome)
  const content = partsOf(reply).map(({ part, path }) => toBlock(part, path))
  const { task, contextId } = reply
  const taskId = task?.id
  const result = { content, _meta: defined({ taskId: taskId || undefined, contextId: contextId || undefined }) }
  if (!isTyped) return result
  return { ...result, structuredContent: outputOf(reply, skill ?? '') }
}

/** `path` becomes part of the URI of embedded resources. */
function partsOf(reply: Reply): readonly { readonly part: Part; readonly path: string }[] {
  if (reply.type === 'message') return reply.message.parts.map((part, index) => ({ part, path: `message/${index}` }))
  const { id, artifacts, status } = reply.task
  const artifactParts = artifacts.flatMap(({ artifactId, parts }) =>
    joinTexts(parts).map((part, index) => ({ part, path: `${id}/${artifactId}/${index}` })),
  )
  const messageParts = (status.message?.parts ?? []).map((part, index) => ({ part, path: `${id}/status/${index}` }))
  return [...artifactParts, ...messageParts]
}

function toBlock(part: Part, path: string): Block {
  const { mediaType, filename } = part
  if ('text' in part) return { type: 'text', text: part.text }
  if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
  const mime = mediaType === undefined ? {} : { mimeType: mediaType }
  if ('url' in part) return { type: 'resource_link', uri: part.url, name: filename ?? part.url, ...mime }
  if (mediaType?.startsWith('image/')) return { type: 'image', data: part.raw, mimeType: mediaType }
  if (mediaType?.startsWith('audio/')) return { type: 'audio', data: part.raw, mimeType: mediaType }
  const uri = `a2a:${path}${filename ? `/${encodeURIComponent(filename)}` : ''}`
  return { type: 'resource', resource: { uri, blob: part.raw, ...mime } }
}

type Block = CallToolResult['content'][number]

async function toolResultOf(task: Task, call: ToolCall): Promise<Result> {
  const { state, message } = task.status
  const text = message ? textOf(message) : ''
  switch (state) {
    case 'completed':
      return await limitedResult({ type: 'task', task }, call)
    case 'input-required':
      return await ask(task, readQuestion(message), call)
    case 'auth-required':
      return failed(
        `The agent needs to be authorized first: ${text || 'it does not say how.'}\n` +
          `Then call ${call.answerTool} with taskId "${task.id}" and the answer "done".`,
      )
    case 'failed':
    case 'rejected':
    case 'canceled':
    case 'unknown':
      return failed(text ? `The task is ${state}: ${text}` : `The task is ${state}.`)
    case 'submitted':
    case 'working':
      return failed(`The task ${task.id} is still ${state}.`)
  }
}

/** Asks the user through an MCP form if the client supports it; otherwise the result says how to answer. */
async function ask({ id: taskId }: Task, question: AgentQuestion, call: ToolCall): Promise<Result> {
  const { tool, answerTool, capabilities, context, mcp, state } = call
  const { text, form, requestId, isSensitive } = question
  if (isSensitive) {
    return failed(
      `The agent asks for a secret, which tools must not transmit: ${text}\nAnswer it at the agent: its task is ${taskId}.`,
    )
  }
  if (!canElicit(capabilities)) {
    return failed(`The agent asks: ${text}\nTo answer, call ${answerTool} with taskId "${taskId}" and the answer.`)
  }
  const pending: PendingQuestion = defined({
    tool: tool.name,
    taskId,
    requestId,
    isForm: form !== undefined,
    messageId: crypto.randomUUID(),
  })
  const elicit = mcp.inputRequired.elicit({ message: text, requestedSchema: form ?? textForm })
  return mcp.inputRequired({ inputRequests: { answer: elicit }, requestState: await state.mint(pending, context) })
}

/** An empty capability means forms (MCP 2025-06-18). */
function canElicit(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** Only `A2AError` texts are meant for callers. */
function toFailure(error: unknown): CallToolResult {
  if (!(error instanceof A2AError)) return failed('The agent could not be called.')
  return failed([error.message, error.hint].filter(Boolean).join('\n'))
}
