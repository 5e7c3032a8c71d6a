import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { Voice } from '../agent/voice.ts'
import type { Invocation } from '../agent/work.ts'
import { clientTools, toolResult, toolUse } from '../protocol/client-tools.ts'
import type { StatusEvent } from '../protocol/events.ts'
import type { JsonObject, Message, Part } from '../protocol/model.ts'
import { textOf } from '../protocol/parts.ts'
import { inputJsonSchema } from './json-schema.ts'
import type { ClientTool, Tool } from './tool.ts'

/** What the caller is asked for. One question at a time: a task waits for one answer. */
export interface Questions {
  call(tool: ClientTool, toolCallId: string, input: JsonObject): Promise<LanguageModelV4ToolResultOutput>
  approve(tool: Tool, input: JsonObject): Promise<boolean>
}

export function createQuestions(
  voice: Voice,
  answerTo: Invocation['answerTo'],
  emit: (event: StatusEvent) => void,
): Questions {
  let last: Promise<unknown> = Promise.resolve()

  function ask(content: readonly Part[], request: JsonObject): Promise<Message> {
    if (!answerTo) return Promise.reject(new Error('nobody can be asked: the loop was not invoked by an agent.'))
    const { status, ...event } = voice.status('input-required', content)
    if (!status.message) return Promise.reject(new Error('there is nothing to ask'))
    const message = { ...status.message, metadata: { [clientTools]: request }, extensions: [clientTools] }
    const answer = last.then(async () => {
      const answered = answerTo(message.messageId)
      emit({ ...event, status: { ...status, message } })
      return (await answered).message
    })
    last = answer.catch(() => {})
    return answer
  }

  return {
    async call(tool, toolCallId, input) {
      const { name, prompt = `Please run the tool "${name}" and send its result.` } = tool
      const use = { data: { toolUseId: toolCallId, name, arguments: input }, mediaType: toolUse }
      const request = { requestId: toolCallId, prompt, sensitive: false, tool: name, schema: inputJsonSchema(tool) }
      const answer = await ask([{ text: prompt }, use], request)
      return resultIn(answer, toolCallId)
    },
    async approve({ name }, input) {
      const requestId = crypto.randomUUID()
      const prompt = `May the tool "${name}" be called with ${JSON.stringify(input)}? Please answer yes or no.`
      const answer = await ask([{ text: prompt }], { requestId, prompt, sensitive: false, tool: name })
      const told = resultOf(answer, requestId)
      const word = told === undefined ? textOf(answer) : String(told.result)
      return /^\s*(yes|y|true|ok|approved?)\b/i.test(word)
    },
  }
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
