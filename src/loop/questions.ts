import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Invocation } from '../core/agent/agent-function.ts'
import { type AnswerDeadline, answerLost, expiryText, type OnTimeout, resultValue } from '../core/agent/ask.ts'
import type { AgentEvents } from '../core/agent/content.ts'
import { describeIssues, jsonSchemaOf, textCandidates } from '../core/agent/standard-schema.ts'
import { defined, type Json, type JsonObject } from '../core/base/json.ts'
import type { StatusEvent } from '../core/protocol/events.ts'
import { clientTools, inputRequestIn, toolResult, toolUse } from '../core/protocol/extensions/client-tools.ts'
import { type Message, type Part, textOf } from '../core/protocol/model.ts'
import { type ClientTool, inputJsonSchema, type Tool } from './tools/tool.ts'

/** Characters of a tool's arguments in the question. */
const maxShownInput = 1_000

/** Asks the caller, one question at a time: a task waits for a single answer. */
export interface Questions {
  call(tool: ClientTool, toolCallId: string, input: JsonObject): Promise<LanguageModelV4ToolResultOutput>
  approve(tool: Tool, toolCallId: string, input: JsonObject): Promise<boolean>
  /** Whether an answer was sensitive, so that only the model may see it. */
  hasSecret(): boolean
}

export function createQuestions(
  agentEvents: AgentEvents,
  options: QuestionOptions,
  emit: (event: StatusEvent) => void,
): Questions {
  const { answerTo, turn, inputTimeout, onInputTimeout } = options
  const usedIds = new Set((turn?.history ?? []).map((message) => inputRequestIn(message)?.requestId))
  let last: Promise<unknown> = Promise.resolve()
  let hasSecret = false

  /** Models reuse call ids in later answers, but each request to the caller needs its own id. */
  function uniqueRequestId(preferred: string): string {
    let id = preferred
    for (let suffix = 2; usedIds.has(id); suffix++) id = `${preferred}-${suffix}`
    usedIds.add(id)
    return id
  }

  function ask(content: readonly Part[], request: JsonObject, timeout: number, onTimeout: OnTimeout): Promise<Message> {
    if (!answerTo) return Promise.reject(new Error('the caller cannot be asked: the loop was not invoked by an agent.'))
    const answer = last.then(async () => {
      const { status, ...event } = agentEvents.status('input-required', { parts: content })
      if (!status.message) throw new Error('the question has no content')
      const deadline = deadlineOf(timeout, onTimeout)
      const metadata = { [clientTools]: defined({ ...request, expiresAt: expiryText(deadline.expiresAt) }) }
      const message = { ...status.message, metadata, extensions: [clientTools] }
      const pending = answerTo(message.messageId, deadline)
      emit({ ...event, status: { ...status, message } })
      const { message: reply, sensitive } = await pending
      if (sensitive) throw answerLost()
      hasSecret ||= request.sensitive === true
      return reply
    })
    last = answer.catch(() => {})
    return answer
  }

  return {
    hasSecret: () => hasSecret,
    async call(tool, toolCallId, input) {
      const { name, prompt = defaultPrompt(name, input), sensitive = false, output } = tool
      const requestId = uniqueRequestId(toolCallId)
      const use = { data: { toolUseId: requestId, name, arguments: input }, mediaType: toolUse }
      const resultSchema = output && jsonSchemaOf(output, 'input', 'draft-07')
      const request: JsonObject = defined({
        requestId,
        prompt,
        sensitive,
        tool: name,
        schema: inputJsonSchema(tool),
        resultSchema,
      })
      const { timeout = inputTimeout, onTimeout = onInputTimeout } = tool
      const answer = await ask([{ text: prompt }, use], request, timeout, onTimeout)
      return await toOutput(answer, requestId, output)
    },
    async approve({ name }, toolCallId, input) {
      const requestId = uniqueRequestId(`approve-${toolCallId}`)
      const prompt = `May the tool "${name}" be called with ${JSON.stringify(input)}? Please answer yes or no.`
      const request = { requestId, prompt, sensitive: false, tool: name, toolArguments: input }
      const answer = await ask([{ text: prompt }], request, inputTimeout, onInputTimeout)
      const result = findResult(answer, requestId)
      const word = result === undefined ? textOf(answer) : String(resultValue(result.result ?? null))
      return /^\s*(yes|y|true|ok|approved?)\b/i.test(word)
    },
  }
}

export interface InputPolicy {
  /** Time that the caller may take to answer, in milliseconds. */
  readonly inputTimeout: number
  readonly onInputTimeout: OnTimeout
}

type QuestionOptions = Pick<Invocation, 'answerTo' | 'turn'> & InputPolicy

/** Names the arguments: callers without the extension may see nothing but this text. */
function defaultPrompt(name: string, input: JsonObject): string {
  const text = JSON.stringify(input)
  const shown = text.length > maxShownInput ? `${text.slice(0, maxShownInput)}…` : text
  return `Please run the tool "${name}"${text === '{}' ? '' : ` with ${shown}`} and send its result.`
}

function deadlineOf(timeout: number, onTimeout: OnTimeout): AnswerDeadline {
  const since = Date.now()
  return Number.isFinite(timeout) ? { since, expiresAt: since + timeout, onTimeout } : {}
}

/** A plain text answer counts as the result. */
async function toOutput(
  answer: Message,
  requestId: string,
  schema: StandardSchemaV1 | undefined,
): Promise<LanguageModelV4ToolResultOutput> {
  const found = findResult(answer, requestId)
  const result = found ? (found.result ?? null) : textOf(answer)
  const value = typeof result === 'string' ? result : JSON.stringify(result)
  if (found?.isError === true) return { type: 'error-text', value }
  const problem = schema && (await problemOf(result, schema))
  if (problem === undefined) return { type: 'text', value }
  return { type: 'error-text', value: `The caller's result does not fit: ${problem}.` }
}

/** Why a result does not fit the schema. A text may be JSON. */
async function problemOf(result: Json, schema: StandardSchemaV1): Promise<string | undefined> {
  let problem: string | undefined
  for (const candidate of typeof result === 'string' ? textCandidates(result) : [result]) {
    const { issues } = await schema['~standard'].validate(candidate)
    if (!issues) return undefined
    problem = describeIssues(issues)
  }
  return problem
}

function findResult({ parts }: Message, requestId: string): JsonObject | undefined {
  for (const part of parts) {
    if (!('data' in part) || part.mediaType !== toolResult) continue
    const { data } = part
    if (typeof data === 'object' && data !== null && 'toolUseId' in data && data.toolUseId === requestId) return data
  }
  return undefined
}
