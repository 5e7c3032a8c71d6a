import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json, JsonObject } from '../base/json.ts'
import { A2AError } from '../protocol/errors.ts'
import type { MessageEvent, StatusEvent } from '../protocol/events.ts'
import { clientTools, toolResult } from '../protocol/extensions/client-tools.ts'
import { type Message, type Part, type Principal, textOf } from '../protocol/model.ts'
import { jsonSchemaOf, requireSchema } from './standard-schema.ts'
import { type AgentEvents, type Content, toParts } from './turn-output.ts'

export type OnTimeout = 'fail' | 'continue'

/** How long a question waits for its answer, and what then. */
export interface AnswerDeadline {
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined
  /** When the time began; when the question is told unless said. */
  readonly since?: number | undefined
  readonly onTimeout?: OnTimeout | undefined
}

/** Emits a question and gives the message that answers it; with `sensitive` if what it said is gone. */
export type AskCaller = (question: StatusEvent, waiting?: AnswerDeadline) => Promise<MessageEvent>

export interface AskContext {
  readonly ask: AskCaller
  readonly now: () => number
}

export interface AskOptions {
  /** What must be answered, by any library of Standard Schema: zod, valibot, arktype… */
  readonly schema?: StandardSchemaV1
  /** Until when: a date, its ISO text, or milliseconds since 1970. */
  readonly expiresAt?: Date | string | number
  /** For how many milliseconds, instead of `expiresAt`. */
  readonly timeout?: number
  /** When nobody answers in time: the task fails (default), or the turn goes on with an error `input-timeout`. */
  readonly onTimeout?: OnTimeout
  /**
   * The answer reaches this turn and nobody else: it is never stored, told or logged. If its process is gone before it
   * was used, it is asked for again.
   */
  readonly sensitive?: boolean
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

/**
 * Asks the caller and gives the answer. With a schema, what the schema makes of it: an answer that does not fit is
 * asked for again. A question that expires ends the task, or throws `input-timeout`, as `onTimeout` says. Turns with the
 * policy `resume` wait across restarts.
 */
export interface Ask {
  (question: Content, options?: AskOptions & { readonly schema?: undefined }): Promise<Answer>
  <S extends StandardSchemaV1>(
    question: Content,
    options: AskOptions & { readonly schema: S },
  ): Promise<StandardSchemaV1.InferOutput<S>>
}

export function createAsk({ ask: askCaller, now }: AskContext, voice: AgentEvents): Ask {
  async function ask(question: Content, options: AskOptions = {}): Promise<unknown> {
    const { schema, onTimeout } = options
    if (schema) requireSchema('turn.ask()', schema)
    const since = now()
    const waiting = { since, expiresAt: momentOf(options, since), onTimeout }
    for (let asked = question; ; ) {
      const event = await askCaller(asQuestion(voice.status('input-required', asked), options), waiting)
      if (!schema)
        return event.sensitive ? withoutSecret(event) : { ...answerOf(event), text: answerText(event.message) }
      if (event.sensitive) throw answerLost()
      const checked = await checkAnswer(schema, event.message)
      if ('value' in checked) return checked.value
      asked = [...toParts(question), { text: `The last answer does not fit: ${checked.problem}. Please answer again.` }]
    }
  }
  // The two forms differ in their types only.
  return ask as Ask
}

/** The question once more, for the one who has answered it to a process that is gone. */
export function repeatQuestion(question: StatusEvent): StatusEvent {
  const { status, ...event } = question
  const { message } = status
  if (!message) return question
  const parts = [...message.parts, { text: 'Your answer is gone with the process that had it: please give it again.' }]
  return { ...event, status: { ...status, message: { ...message, messageId: crypto.randomUUID(), parts } } }
}

export function answerOf({ message, metadata = {}, principal }: MessageEvent): Answer {
  return { text: textOf(message), message, metadata, principal }
}

/** For whoever needs what is with a process that is gone. */
export function answerLost(): A2AError {
  const text = 'The answer was given to a process that is gone, and is never stored: ask for it again.'
  return new A2AError('unavailable', text, { reason: 'answer-gone' })
}

export type Checked<T> = { readonly value: T } | { readonly problem: string }

export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues.map(describeIssue).join('; ') || 'it does not fit'
}

export function readExpiry(where: string, given: Date | string | number): number {
  const moment = new Date(given).getTime()
  if (Number.isNaN(moment)) {
    throw new TypeError(`${where}: expected expiresAt to be a date, got ${JSON.stringify(given)}`)
  }
  return moment
}

function describeIssue({ message, path = [] }: StandardSchemaV1.Issue): string {
  const place = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
  return place ? `${place}: ${message}` : message
}

function momentOf({ expiresAt, timeout }: AskOptions, now: number): number | undefined {
  if (expiresAt !== undefined && timeout !== undefined) {
    throw new TypeError('turn.ask(): expiresAt and timeout exclude each other: give one of them')
  }
  if (timeout !== undefined && !(timeout >= 0)) {
    throw new TypeError(`turn.ask(): expected timeout to be milliseconds from 0 on, got ${JSON.stringify(timeout)}`)
  }
  if (timeout !== undefined) return Number.isFinite(timeout) ? now + timeout : undefined
  return expiresAt === undefined ? undefined : readExpiry('turn.ask()', expiresAt)
}

/** With an id by which it is answered, once. A turn that is resumed finds it by its words, with the id it has. */
function asQuestion(question: StatusEvent, { schema, sensitive = false }: AskOptions): StatusEvent {
  const { status, ...event } = question
  const { message } = status
  if (!message) return question
  const expected = schema && jsonSchemaOf(schema, 'input', 'draft-07')
  const request: JsonObject = {
    requestId: crypto.randomUUID(),
    prompt: textOf(message),
    sensitive,
    ...(expected && { schema: expected }),
  }
  const asking = { ...message, metadata: { [clientTools]: request }, extensions: [clientTools] }
  return { ...event, status: { ...status, message: asking } }
}

/** A turn that goes through what it has done gets by without the answer. If it does not, it is told. */
function withoutSecret({ metadata = {}, principal }: MessageEvent): Answer {
  return {
    metadata,
    principal,
    get text(): never {
      throw answerLost()
    },
    get message(): never {
      throw answerLost()
    },
  }
}

/** A request that is answered by its id has the answer in the result. */
function answerText(message: Message): string {
  const text = textOf(message)
  return text === '' ? message.parts.map(resultText).join('') : text
}

function resultText(part: Message['parts'][number]): string {
  const content = 'data' in part && part.mediaType === toolResult ? contentOf(part) : ''
  return typeof content === 'string' ? content : JSON.stringify(content)
}

/** The answer to a request by its id is within what names the request. */
function contentOf({ data, mediaType }: Extract<Part, { data: Json }>): Json {
  const isResult = mediaType === toolResult && typeof data === 'object' && data !== null && 'result' in data
  return isResult ? (data.result ?? null) : data
}

/**
 * What a schema makes of an answer: of its data, if it has a part of that kind, else of its text, as it is or as the
 * JSON that it may be.
 */
async function checkAnswer<S extends StandardSchemaV1>(
  schema: S,
  message: Message,
): Promise<Checked<StandardSchemaV1.InferOutput<S>>> {
  let problem = 'it is empty'
  for (const candidate of candidatesIn(message)) {
    const result = await schema['~standard'].validate(candidate)
    if (!result.issues) return { value: result.value as StandardSchemaV1.InferOutput<S> }
    problem = describeIssues(result.issues)
  }
  return { problem }
}

/** The last of them is the one whose problem is told. */
function candidatesIn(message: Message): readonly unknown[] {
  const data = message.parts.flatMap((part) => ('data' in part ? [contentOf(part)] : []))
  if (data.length > 0) return data.slice(0, 1)
  const text = textOf(message)
  const parsed = parse(text)
  return parsed === undefined ? [text] : [text, parsed]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
