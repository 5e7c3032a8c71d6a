import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { Invocation } from '../agent/agent-function.ts'
import { type AnswerDeadline, answerLost, type OnTimeout } from '../agent/ask.ts'
import type { AgentEvents } from '../agent/turn-output.ts'
import type { JsonObject } from '../base/json.ts'
import type { StatusEvent } from '../protocol/events.ts'
import { clientTools, inputRequestIn, toolResult, toolUse } from '../protocol/extensions/client-tools.ts'
import { type Message, type Part, textOf } from '../protocol/model.ts'
import { type ClientTool, inputJsonSchema, type Tool } from './tools/tool.ts'

/** What the caller is asked for. One question at a time: a task waits for one answer. */
export interface Questions {
  call(tool: ClientTool, toolCallId: string, input: JsonObject): Promise<LanguageModelV4ToolResultOutput>
  approve(tool: Tool, toolCallId: string, input: JsonObject): Promise<boolean>
  /** Something was answered that nobody but the model may know. */
  hasSecret(): boolean
}

export function createQuestions(voice: AgentEvents, asking: Asking, emit: (event: StatusEvent) => void): Questions {
  const { answerTo, turn, inputTimeout, onInputTimeout } = asking
  const used = new Set((turn?.history ?? []).map((message) => inputRequestIn(message)?.requestId))
  let last: Promise<unknown> = Promise.resolve()
  let hasSecret = false

  /** Models give the same id to calls in different answers, and a request is known by its own. */
  function requestIdOf(wanted: string): string {
    let id = wanted
    for (let n = 2; used.has(id); n++) id = `${wanted}-${n}`
    used.add(id)
    return id
  }

  function ask(content: readonly Part[], request: JsonObject, timeout: number, onTimeout: OnTimeout): Promise<Message> {
    if (!answerTo) return Promise.reject(new Error('nobody can be asked: the loop was not invoked by an agent.'))
    const answer = last.then(async () => {
      const { status, ...event } = voice.status('input-required', content)
      if (!status.message) throw new Error('there is nothing to ask')
      const message = { ...status.message, metadata: { [clientTools]: request }, extensions: [clientTools] }
      const answered = answerTo(message.messageId, waiting(timeout, onTimeout))
      emit({ ...event, status: { ...status, message } })
      const { message: told, sensitive } = await answered
      if (sensitive) throw answerLost()
      hasSecret ||= request.sensitive === true
      return told
    })
    last = answer.catch(() => {})
    return answer
  }

  return {
    hasSecret: () => hasSecret,
    async call(tool, toolCallId, input) {
      const { name, prompt = `Please run the tool "${name}" and send its result.`, sensitive = false } = tool
      const requestId = requestIdOf(toolCallId)
      const use = { data: { toolUseId: requestId, name, arguments: input }, mediaType: toolUse }
      const request = { requestId, prompt, sensitive, tool: name, schema: inputJsonSchema(tool) }
      const { timeout = inputTimeout, onTimeout = onInputTimeout } = tool
      return resultIn(await ask([{ text: prompt }, use], request, timeout, onTimeout), requestId)
    },
    async approve({ name }, toolCallId, input) {
      const requestId = requestIdOf(`approve-${toolCallId}`)
      const prompt = `May the tool "${name}" be called with ${JSON.stringify(input)}? Please answer yes or no.`
      const request = { requestId, prompt, sensitive: false, tool: name }
      const answer = await ask([{ text: prompt }], request, inputTimeout, onInputTimeout)
      const told = resultOf(answer, requestId)
      const word = told === undefined ? textOf(answer) : String(told.result)
      return /^\s*(yes|y|true|ok|approved?)\b/i.test(word)
    },
  }
}

export interface InputPolicy {
  /** Milliseconds. */
  readonly inputTimeout: number
  readonly onInputTimeout: OnTimeout
}

type Asking = Pick<Invocation, 'answerTo' | 'turn'> & InputPolicy

function waiting(timeout: number, onTimeout: OnTimeout): AnswerDeadline {
  const since = Date.now()
  return Number.isFinite(timeout) ? { since, expiresAt: since + timeout, onTimeout } : {}
}

/** A plain text answers as well: it satisfies the question that was asked. */
function resultIn(answer: Message, requestId: string): LanguageModelV4ToolResultOutput {
  const told = resultOf(answer, requestId)
  if (!told) return { type: 'text', value: textOf(answer) }
  const value = typeof told.result === 'string' ? told.result : JSON.stringify(told.result ?? null)
  return told.isError === true ? { type: 'error-text', value } : { type: 'text', value }
}

function resultOf({ parts }: Message, requestId: string): JsonObject | undefined {
  for (const part of parts) {
    if (!('data' in part) || part.mediaType !== toolResult) continue
    const { data } = part
    if (typeof data === 'object' && data !== null && 'toolUseId' in data && data.toolUseId === requestId) return data
  }
  return undefined
}
