import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { MessageEvent, StatusEvent } from '../protocol/events.ts'
import type { JsonObject, Message, Principal } from '../protocol/model.ts'
import { textOf } from '../protocol/parts.ts'
import { checkAnswer } from './check-answer.ts'
import { type Content, toParts } from './content.ts'
import type { Voice } from './voice.ts'

/**
 * Asks the caller and gives the answer. With a schema, what the schema makes of it: an answer that does not fit is
 * asked for again. A question that expires ends the task. Turns with the policy `resume` wait across restarts.
 */
export interface Ask {
  (question: Content, options?: AskOptions & { readonly schema?: undefined }): Promise<Answer>
  <S extends StandardSchemaV1>(
    question: Content,
    options: AskOptions & { readonly schema: S },
  ): Promise<StandardSchemaV1.InferOutput<S>>
}

export interface AskOptions {
  /** What must be answered, by any library of Standard Schema: zod, valibot, arktype… */
  readonly schema?: StandardSchemaV1
  /** Until when: a date, its ISO text, or milliseconds since 1970. */
  readonly expiresAt?: Date | string | number
}

/** What the caller said to a question. */
export interface Answer {
  /** The text of the message. */
  readonly text: string
  readonly message: Message
  /** What the caller sent beside the message. */
  readonly metadata: JsonObject
  readonly principal: Principal
}

/** Emits a question and gives the message that answers it. */
export type Inquire = (question: StatusEvent, expiresAt?: number) => Promise<MessageEvent>

export function createAsk(inquire: Inquire, voice: Voice): Ask {
  async function ask(question: Content, { schema, expiresAt }: AskOptions = {}): Promise<unknown> {
    const moment = expiresAt === undefined ? undefined : readMoment('turn.ask()', expiresAt)
    for (let asked = question; ; ) {
      const answer = asAnswer(await inquire(voice.status('input-required', asked), moment))
      if (!schema) return answer
      const checked = await checkAnswer(schema, answer.message)
      if ('value' in checked) return checked.value
      asked = [...toParts(question), { text: `The last answer does not fit: ${checked.problem}. Please answer again.` }]
    }
  }
  // The two forms differ in their types only.
  return ask as Ask
}

export function asAnswer({ message, metadata = {}, principal }: MessageEvent): Answer {
  return { text: textOf(message), message, metadata, principal }
}

export function readMoment(where: string, given: Date | string | number): number {
  const moment = new Date(given).getTime()
  if (Number.isNaN(moment)) {
    throw new TypeError(`${where}: expected expiresAt to be a date, got ${JSON.stringify(given)}`)
  }
  return moment
}
