import type { Json, JsonObject, Part } from 'parley-a2a/client'

/** What a task waits for, in the chat and in the inbox. */
export interface PendingQuestion {
  readonly kind: 'input' | 'approval' | 'tool' | 'credentials'
  /** JSON Schema of the answer, or of the result of the tool. */
  readonly schema?: JsonObject | undefined
  /** The name of the tool. */
  readonly tool?: string | undefined
  readonly isSensitive?: boolean | undefined
  readonly schemes?: readonly string[] | undefined
  readonly urls?: readonly string[] | undefined
}

export interface AnswerFormProps {
  readonly question: PendingQuestion
  readonly onAnswer: (answer: QuestionAnswer) => void
  readonly isBusy?: boolean
}

/** What a person answers. */
export type QuestionAnswer =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'value'; readonly value: Json }
  | { readonly type: 'decision'; readonly decision: 'approve' | 'decline'; readonly comment: string }
  | { readonly type: 'tool-result'; readonly result: Json }
  | { readonly type: 'tool-failure'; readonly message: string }
  | { readonly type: 'credentials'; readonly scheme?: string; readonly secret: string }

/** The media type of a part that answers a request: the client tools extension. */
const toolResult = 'application/vnd.a2a.tool-result+json'

/** The part that answers the request with this id. */
export function resultPart(toolUseId: string, result: Json, isError = false): Part {
  return { data: { toolUseId, result, ...(isError && { isError }) }, mediaType: toolResult }
}

/** The answer as a person reads it. Secrets are not part of it. */
export function textOfAnswer(answer: QuestionAnswer): string {
  switch (answer.type) {
    case 'text':
      return answer.text
    case 'value':
      return textOf(answer.value)
    case 'decision': {
      const word = answer.decision === 'approve' ? 'Approved' : 'Declined'
      return answer.comment === '' ? word : `${word}: ${answer.comment}`
    }
    case 'tool-result':
      return textOf(answer.result)
    case 'tool-failure':
      return `The tool failed: ${answer.message}`
    case 'credentials':
      return 'Credentials sent'
  }
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
