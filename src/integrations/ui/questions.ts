import { defined, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { inputRequestIn, toolResult, toolUse } from '../../core/protocol/extensions/client-tools.ts'
import { type AuthRequired, credentialsPart } from '../../core/protocol/extensions/in-task-credentials.ts'
import { type Message, type Part, type TaskStatus, textOf } from '../../core/protocol/model.ts'

/** What a task waits for. */
export interface AgentQuestion {
  /** Names the question: the id of the agent's request, or of its message. */
  readonly id: string
  readonly taskId: string
  /**
   * `input` wants a value or a text, `approval` yes or no, `tool` the result of a tool that the caller runs, and
   * `credentials` a login, usually at one of the `urls`.
   */
  readonly kind: 'input' | 'approval' | 'tool' | 'credentials'
  readonly text: string
  /** A JSON Schema of the answer. */
  readonly schema?: JsonObject
  /** The tool that the caller shall run or approve. */
  readonly tool?: string
  /** The arguments of the tool. */
  readonly input?: Json
  /** Whether the answer is a secret. Front ends keep it nowhere. */
  readonly isSensitive: boolean
  /** The schemes of the credentials, such as `Bearer`. */
  readonly schemes?: readonly string[]
  /** Where to obtain the credentials. */
  readonly urls?: readonly string[]
  /** Whether the agent names its request: then a structured answer refers to it. */
  readonly isRequest: boolean
}

/** Reads the question of a status that waits for the caller. */
export function readQuestion(status: TaskStatus, taskId: string, auth: AuthRequired | undefined): AgentQuestion {
  const { state, message } = status
  const request = inputRequestIn(message) ?? {}
  const { requestId, tool, prompt } = request
  const isRequest = typeof requestId === 'string'
  const input = request.arguments ?? argumentsIn(message)
  const schema = [request.resultSchema, tool === undefined ? request.schema : undefined].find(isObject)
  const isCall = request.schema !== undefined || input !== undefined
  const ofTool = isCall ? 'tool' : 'approval'
  const ofInput = tool === undefined ? (isYesOrNo(schema) ? 'approval' : 'input') : ofTool
  const text = (message && textOf(message)) || (typeof prompt === 'string' ? prompt : '') || 'The agent needs an answer.'
  return defined({
    id: isRequest ? requestId : (message?.messageId ?? `question-${taskId}`),
    taskId,
    kind: state === 'auth-required' ? 'credentials' : ofInput,
    text,
    schema,
    tool: typeof tool === 'string' ? tool : undefined,
    input,
    isSensitive: request.sensitive === true || state === 'auth-required',
    schemes: auth?.schemes,
    urls: auth?.urls.filter(isWebUrl),
    isRequest,
  })
}

/** What a caller answers: a value, a decision as `true` or `{ approved, reason }`, or why a tool failed. */
export type Answer = { readonly value: Json } | { readonly failure: string }

/** The parts that answer a question. Agents that ask without a request get text where the answer is one. */
export function encodeAnswer(question: AgentQuestion, answer: Answer): readonly Part[] {
  if ('failure' in answer) return [resultPart(question, answer.failure, true)]
  const { value } = answer
  switch (question.kind) {
    case 'credentials':
      return isObject(value) && typeof value.credentials === 'string'
        ? [credentialsPart(defined({ scheme: textIn(value.scheme), credentials: value.credentials }))]
        : [plainPart(value)]
    case 'approval':
      return encodeDecision(question, value)
    case 'input':
    case 'tool':
      return [question.isRequest ? resultPart(question, value) : plainPart(value)]
  }
}

/** A decision in the form that the agent asks for: by its schema, or as a word. */
function encodeDecision(question: AgentQuestion, value: Json): readonly Part[] {
  const approved = isObject(value) ? value.approved === true : value === true || /^\s*(yes|y|true|ok)\b/i.test(`${value}`)
  const reason = isObject(value) ? textIn(value.reason) : undefined
  if (question.schema?.type === 'boolean') return [resultPart(question, approved)]
  if (question.schema) return [resultPart(question, defined({ approved, reason }))]
  const word = approved ? 'yes' : 'no'
  const comment = reason === undefined ? [] : [{ text: reason }]
  return [question.isRequest ? resultPart(question, word) : { text: word }, ...comment]
}

function resultPart({ id, isRequest }: AgentQuestion, result: Json, isError = false): Part {
  if (!isRequest) return plainPart(result)
  return { data: { toolUseId: id, result, ...(isError && { isError }) }, mediaType: toolResult }
}

function plainPart(value: Json): Part {
  return typeof value === 'string' ? { text: value } : { data: value, mediaType: 'application/json' }
}

/** Whether a schema wants a decision: `true` or `false`, alone or as `approved`. */
function isYesOrNo(schema: JsonObject | undefined): boolean {
  if (schema?.type === 'boolean') return true
  const { approved, reason: _, ...others } = isObject(schema?.properties) ? schema.properties : {}
  return isObject(approved) && approved.type === 'boolean' && Object.keys(others).length === 0
}

function argumentsIn(message: Message | undefined): Json | undefined {
  for (const part of message?.parts ?? []) {
    if ('data' in part && part.mediaType === toolUse && isObject(part.data)) return part.data.arguments
  }
  return undefined
}

/** Whether a page may link to the address: agents are not trusted. */
export function isWebUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

function textIn(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
