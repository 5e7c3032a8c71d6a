import { defined, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { clientTools, toolResult } from '../../core/protocol/extensions/client-tools.ts'
import { type AuthRequired, credentialsType } from '../../core/protocol/extensions/in-task-credentials.ts'
import { type Part, type TaskStatus, textOf } from '../../core/protocol/model.ts'

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
  const found = message?.metadata?.[clientTools]
  const request = isObject(found) ? found : {}
  const { requestId, tool } = request
  const isRequest = typeof requestId === 'string'
  const input = request.arguments
  const schema = [request.resultSchema, tool === undefined ? request.schema : undefined].find(isObject)
  const isCall = request.schema !== undefined || input !== undefined
  const ofTool = isCall ? 'tool' : 'approval'
  const ofInput = tool === undefined ? (isYesOrNo(schema) ? 'approval' : 'input') : ofTool
  const text = (message && textOf(message)) || 'The agent needs an answer.'
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

/** The parts that answer a question: by a value, or a decision as `true` or `{ approved, reason }`. */
export function encodeAnswer(question: AgentQuestion, value: Json): readonly Part[] {
  switch (question.kind) {
    case 'credentials':
      // `{ scheme, credentials }`, or the credentials alone.
      return [{ data: typeof value === 'string' ? { credentials: value } : value, mediaType: credentialsType }]
    case 'approval':
      return [encodeDecision(question, value)]
    case 'input':
    case 'tool':
      return [resultPart(question, value)]
  }
}

/** A decision in the form that the agent asks for: by its schema, or as a word. */
function encodeDecision(question: AgentQuestion, value: Json): Part {
  const { schema } = question
  const decision = isObject(value) ? value : { approved: value }
  const approved = decision.approved === true || decision.approved === 'yes'
  if (schema?.type === 'boolean') return resultPart(question, approved)
  return resultPart(question, schema ? { ...decision, approved } : approved ? 'yes' : 'no')
}

/** Refers to the request of the agent. Agents that do not name one get text where the answer is one. */
export function resultPart({ id, isRequest }: AgentQuestion, result: Json, isError?: true): Part {
  if (isRequest) return { data: defined({ toolUseId: id, result, isError }), mediaType: toolResult }
  return typeof result === 'string' ? { text: result } : { data: result, mediaType: 'application/json' }
}

/** Whether a schema wants a decision: `true` or `false`, alone or as `approved`. */
function isYesOrNo(schema: JsonObject | undefined): boolean {
  return schema?.type === 'boolean' || (isObject(schema?.properties) && isObject(schema.properties.approved))
}

/** The page has the bytes of its files in data URLs. */
export function filePart({ url, mediaType, filename }: FileSource): Part {
  const [, base64] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? []
  const members = defined({ mediaType, filename })
  return base64 === undefined ? { url, ...members } : { raw: base64, ...members }
}

interface FileSource {
  readonly url: string
  readonly mediaType?: string | undefined
  readonly filename?: string | undefined
}

/** Whether a page may link to the address: agents are not trusted. */
export function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url)
}
