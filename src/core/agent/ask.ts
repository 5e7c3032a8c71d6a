import type { StandardSchemaV1 } from '@standard-schema/spec'
import { defined, isObject, type Json, type JsonObject } from '../base/json.ts'
import { anything, checkOptions, flag, type OptionChecks, oneOf } from '../base/options.ts'
import { A2AError } from '../protocol/errors.ts'
import type { MessageEvent, StatusEvent } from '../protocol/events.ts'
import { clientTools, toolResult } from '../protocol/extensions/client-tools.ts'
import { type Message, type Part, type Principal, textOf } from '../protocol/model.ts'
import { type AgentEvents, type Content, readContent } from './content.ts'
import { describeIssues, jsonSchemaOf, requireSchema, textCandidates } from './standard-schema.ts'

export type OnTimeout = 'fail' | 'continue'

/** How long a question waits for its answer, and what happens then. */
export interface AnswerDeadline {
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined
  /** When the wait began, in milliseconds since 1970. Defaults to when the question is emitted. */
  readonly since?: number | undefined
  readonly onTimeout?: OnTimeout | undefined
}

/** Emits a question and resolves with the message that answers it. `sensitive` is set if its content is lost. */
export type AskCaller = (question: StatusEvent, deadline?: AnswerDeadline) => Promise<MessageEvent>

/** Options of `turn.ask`. */
export interface AskOptions {
  /** The schema of the answer, from any Standard Schema library: zod, valibot, arktype… */
  readonly schema?: StandardSchemaV1
  /** When the question expires: a date, an ISO string, or milliseconds since 1970. */
  readonly expiresAt?: Date | string | number
  /** Timeout in milliseconds, instead of `expiresAt`. */
  readonly timeout?: number
  /**
   * What happens when the question expires: the task fails, or `turn.ask()` throws an `input-timeout` error. Defaults to
   * `fail`.
   */
  readonly onTimeout?: OnTimeout
  /**
   * Only this turn sees the answer: it is never stored, sent or logged. If the process stops before the answer is used,
   * the question is repeated.
   */
  readonly sensitive?: boolean
}

/** The caller's answer to a question. */
export interface Answer {
  /** The value of the answer as text: its string, or its JSON. For an answer in plain words, the text of the message. */
  readonly text: string
  /**
   * The value of the answer: the `result` of a tool result, or the `value` in it if it has no other member; otherwise the
   * first data of the message, otherwise its text.
   */
  readonly value: Json
  readonly message: Message
  /** The metadata of the request. */
  readonly metadata: JsonObject
  readonly principal: Principal
}

/**
 * Asks the caller a question and resolves with the answer. With a schema, it resolves with the validated value, and
 * repeats the question until an answer is valid. An expired question fails the task or throws `input-timeout`,
 * depending on `onTimeout`. With the recovery policy `resume`, the turn keeps waiting across restarts.
 */
export interface Ask {
  /** Asks one after the other, and resolves with all answers, in the order of the questions. */
  <const Q extends readonly Question[]>(questions: Q): Promise<{ -readonly [I in keyof Q]: AnswerTo<Q[I]> }>
  (question: Content, options?: AskOptions & { readonly schema?: undefined }): Promise<Answer>
  <S extends StandardSchemaV1>(
    question: Content,
    options: AskOptions & { readonly schema: S },
  ): Promise<StandardSchemaV1.InferOutput<S>>
}

/** The validated value if the question has a schema, and the whole answer otherwise. */
type AnswerTo<Q> = Q extends { readonly schema: infer S extends StandardSchemaV1 }
  ? StandardSchemaV1.InferOutput<S>
  : Answer

/** One of several questions that `turn.ask` takes at once. */
export interface Question extends AskOptions {
  readonly question: Content
}

/** Schemas and times are checked where they are read. */
const askChecks: OptionChecks<AskOptions> = {
  schema: anything,
  expiresAt: anything,
  timeout: anything,
  onTimeout: oneOf('fail', 'continue'),
  sensitive: flag,
}

export interface AskContext {
  readonly ask: AskCaller
  readonly now: () => number
  readonly agentEvents: AgentEvents
}

/** Implements `turn.ask()`. */
export async function ask(context: AskContext, question: Content, options: AskOptions = {}): Promise<unknown> {
  checkOptions('turn.ask()', options, askChecks)
  const { schema, onTimeout } = options
  if (schema) requireSchema('turn.ask()', schema)
  const since = context.now()
  const deadline = { since, expiresAt: expiryOf(options, since), onTimeout }
  const asked = readContent(question)
  for (let content = asked; ; ) {
    const status = context.agentEvents.status('input-required', content)
    const event = await context.ask(withRequest(status, options, deadline), deadline)
    if (!schema) return event.sensitive ? lostAnswer(event) : readAnswer(event)
    if (event.sensitive) throw answerLost()
    const checked = await checkAnswer(schema, event.message)
    if ('value' in checked) return checked.value
    const complaint = { text: `The last answer does not fit: ${checked.problem}. Please answer again.` }
    content = { ...asked, parts: [...asked.parts, complaint] }
  }
}

/** Implements `turn.ask()` for several questions. A caller without forms can answer only one at a time. */
export async function askAll(context: AskContext, questions: readonly Question[]): Promise<readonly unknown[]> {
  for (const { question: _, ...options } of questions) {
    checkOptions('turn.ask()', options, askChecks)
    if (options.schema) requireSchema('turn.ask()', options.schema)
  }
  const answers: unknown[] = []
  for (const { question, ...options } of questions) answers.push(await ask(context, question, options))
  return answers
}

export function isQuestions(value: Content | readonly Question[]): value is readonly Question[] {
  return Array.isArray(value) && value.every((item) => isObject(item) && 'question' in item)
}

/** Repeats the question, because the process that held the answer is gone. */
export function repeatQuestion(question: StatusEvent): StatusEvent {
  const { status, ...event } = question
  const { message } = status
  if (!message) return question
  const parts = [...message.parts, { text: 'Your answer is gone with the process that had it: please give it again.' }]
  return { ...event, status: { ...status, message: { ...message, messageId: crypto.randomUUID(), parts } } }
}

/** Thrown when code needs a sensitive answer that only an earlier process held. */
export function answerLost(): A2AError {
  const text = 'The answer was given to a process that is gone, and is never stored: ask for it again.'
  return new A2AError('unavailable', text, { reason: 'answer-gone' })
}

/** The value of a tool result: callers may wrap it as `{ value }`. */
export function resultValue(result: Json): Json {
  const isWrapped = isObject(result) && result.value !== undefined && Object.keys(result).length === 1
  return isWrapped ? (result.value ?? null) : result
}

/** The time at which a question is given up, for callers. Undefined if no date can express it. */
export function expiryText(expiresAt: number | undefined): string | undefined {
  const date = new Date(expiresAt ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

export function readExpiry(where: string, value: Date | string | number): number {
  const expiresAt = new Date(value).getTime()
  if (Number.isNaN(expiresAt)) {
    throw new TypeError(`${where}: expected expiresAt to be a date, got ${JSON.stringify(value)}`)
  }
  return expiresAt
}

function expiryOf({ expiresAt, timeout }: AskOptions, now: number): number | undefined {
  if (expiresAt !== undefined && timeout !== undefined) {
    throw new TypeError('turn.ask(): expiresAt and timeout exclude each other: give one of them')
  }
  if (timeout !== undefined && !(timeout >= 0)) {
    throw new TypeError(`turn.ask(): expected timeout to be milliseconds from 0 on, got ${JSON.stringify(timeout)}`)
  }
  if (timeout !== undefined) return Number.isFinite(timeout) ? now + timeout : undefined
  return expiresAt === undefined ? undefined : readExpiry('turn.ask()', expiresAt)
}

/**
 * Adds the input request by which the question is answered once. A resumed turn finds the stored question by its text,
 * and keeps its request id.
 */
function withRequest(
  question: StatusEvent,
  { schema, sensitive = false }: AskOptions,
  { expiresAt }: AnswerDeadline,
): StatusEvent {
  const { status, ...event } = question
  const { message } = status
  if (!message) return question
  const jsonSchema = schema && jsonSchemaOf(schema, 'input', 'draft-07')
  const request: JsonObject = defined({
    requestId: crypto.randomUUID(),
    prompt: textOf(message),
    sensitive,
    schema: jsonSchema,
    expiresAt: expiryText(expiresAt),
  })
  const requesting = {
    ...message,
    metadata: { ...message.metadata, [clientTools]: request },
    extensions: [...new Set([...(message.extensions ?? []), clientTools])],
  }
  return { ...event, status: { ...status, message: requesting } }
}

function readAnswer({ message, metadata = {}, principal }: MessageEvent): Answer {
  const value = answerValue(message)
  return { text: answerText(message, value), value, message, metadata, principal }
}

/** A replaying turn does not need the content. Code that reads it anyway gets an error. */
function lostAnswer({ metadata = {}, principal }: MessageEvent): Answer {
  return {
    metadata,
    principal,
    get text(): never {
      throw answerLost()
    },
    get value(): never {
      throw answerLost()
    },
    get message(): never {
      throw answerLost()
    },
  }
}

function answerValue(message: Message): Json {
  const [result] = resultsIn(message)
  if (result !== undefined) return resultValue(result)
  return dataIn(message)?.data ?? textOf(message)
}

/** A text beside a tool result only announces it. Data without a tool result may have an answer in words beside it. */
function answerText(message: Message, value: Json): string {
  const hasResult = resultsIn(message).length > 0
  return hasResult ? (typeof value === 'string' ? value : JSON.stringify(value)) : textOf(message)
}

/** The results by which a message answers requests. */
function resultsIn({ parts }: Message): readonly Json[] {
  return parts.flatMap((part) => {
    const isResult = 'data' in part && part.mediaType === toolResult && isObject(part.data) && 'result' in part.data
    return isResult ? [(part.data as JsonObject).result ?? null] : []
  })
}

function dataIn({ parts }: Message): Extract<Part, { data: Json }> | undefined {
  return parts.find((part) => 'data' in part)
}

type CheckedAnswer<T> = { readonly value: T } | { readonly problem: string }

/** Validates the value of a tool result, or the first data part of an answer, or else its text: as it is, or as JSON. */
async function checkAnswer<S extends StandardSchemaV1>(
  schema: S,
  message: Message,
): Promise<CheckedAnswer<StandardSchemaV1.InferOutput<S>>> {
  let problem = 'it is empty'
  for (const candidate of candidatesIn(message)) {
    const result = await schema['~standard'].validate(candidate)
    if (!result.issues) return { value: result.value as StandardSchemaV1.InferOutput<S> }
    problem = describeIssues(result.issues)
  }
  return { problem }
}

function candidatesIn(message: Message): readonly unknown[] {
  const [result] = resultsIn(message)
  if (result !== undefined) return [...new Set([resultValue(result), result])]
  const data = dataIn(message)
  return data ? [data.data] : textCandidates(textOf(message))
}
