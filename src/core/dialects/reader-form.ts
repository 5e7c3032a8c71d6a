import type { StreamEvent } from '../protocol/events.ts'
import { splitAnswer, withAnswerArtifact } from '../protocol/extensions/answer.ts'
import { clientTools, toPlainQuestion } from '../protocol/extensions/client-tools.ts'
import type { Message, Task, TaskStatus } from '../protocol/model.ts'
import type { Outcome, RequestOf, ResultOf, TaskPage, UnaryOperation } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'

/**
 * How a reader gets questions and answers. The log has one form of both, with everything that Parley knows; readers get
 * what they can show. A reader without a form gets them as they are.
 */
export interface ReaderForm {
  /** Questions are plain text, because the reader has not activated the client tools extension. */
  readonly hasPlainQuestions: boolean
  /** The answer is an artifact of its task, because most frameworks show only these. */
  readonly hasAnswerArtifacts: boolean
  /** The status has the answer besides. */
  readonly repeatsAnswers?: boolean
  /** The last message of a task without artifacts is an artifact in unary answers, because the reader shows nothing else. */
  readonly hasOnlyArtifacts?: boolean
}

/** AG-UI declares this extension in every call. It shows the texts of statuses, and no artifact. */
const surfaceExtension = 'https://a2ui.org/a2a-extension/a2ui/'

/** Microsoft's framework shows the caller's own message as the answer to an unstreamed call, if there is no artifact. */
const artifactSoftware = 'agent-framework-python/'

export interface Reader {
  /** Whether the dialect has its own form of questions and answers. */
  readonly hasOwnForm: boolean | undefined
  /** Whether the dialect has answers in the status and among the artifacts. */
  readonly repeatsAnswers?: boolean | undefined
  /** Whether the dialect numbers events, so that all its readers get the same ones. */
  readonly numbersChanges?: boolean | undefined
  readonly extensions: readonly string[] | undefined
  /** The `User-Agent` header. */
  readonly userAgent?: string | undefined
}

/** Undefined if the reader gets everything as it is. */
export function readerFormOf(reader: Reader): ReaderForm | undefined {
  const { hasOwnForm, repeatsAnswers, numbersChanges, extensions, userAgent } = reader
  if (hasOwnForm) return undefined
  if (numbersChanges) return { ...plainForm, hasPlainQuestions: !extensions?.includes(clientTools) }
  if (repeatsAnswers) return { ...plainForm, hasPlainQuestions: !extensions?.includes(clientTools), repeatsAnswers }
  if (userAgent?.startsWith(artifactSoftware)) return { ...plainForm, hasOnlyArtifacts: true }
  if (!extensions) return plainForm
  return {
    hasPlainQuestions: !extensions.includes(clientTools),
    hasAnswerArtifacts: !extensions.some((uri) => uri.startsWith(surfaceExtension)),
  }
}

/**
 * Whether a caller keeps only the last chunk of a streamed artifact: Google ADK, which marks the parts of its messages,
 * shows all chunks, and replaces them by the last one in its session.
 */
export function keepsLastChunk({ parts }: Message): boolean {
  return parts.some(({ metadata }) => metadata?.is_user_input === true)
}

/** The form for readers that declare no extension. */
export const plainForm: ReaderForm = { hasPlainQuestions: true, hasAnswerArtifacts: true }

/** A result in the form of its reader. */
export function resultForReader<O extends UnaryOperation>(
  operation: O,
  result: ResultOf<O>,
  form: ReaderForm,
  request?: RequestOf<O>,
): ResultOf<O> {
  const convert: (typeof resultForms)[O] = resultForms[operation]
  return convert ? convert(result, form, request) : result
}

type ConvertResult<O extends UnaryOperation> = (
  result: ResultOf<O>,
  form: ReaderForm,
  request: RequestOf<O> | undefined,
) => ResultOf<O>

const resultForms: { readonly [O in UnaryOperation]?: ConvertResult<O> } = {
  sendMessage: outcomeForReader,
  getTask: taskForReader,
  cancelTask: taskForReader,
  listTasks: pageForReader,
}

/** An event in the form of its reader; an answer may become two events. Called for every event of a stream. */
export function eventsForReader(event: StreamEvent, form: ReaderForm): StreamEvent | readonly StreamEvent[] {
  if (event.type === 'status' && event.status.isAnswer && form.hasAnswerArtifacts) {
    return splitAnswer(event, { keepsMessage: form.repeatsAnswers }) ?? event
  }
  return eventForReader(event, form)
}

/** The same without answers in statuses of their own. */
export function eventForReader(event: StreamEvent, form: ReaderForm): StreamEvent {
  switch (event.type) {
    case 'task': {
      const task = taskForReader(event.task, form)
      return task === event.task ? event : { ...event, task }
    }
    case 'status':
      return form.hasPlainQuestions && requestsInput(event.status.message)
        ? { ...event, status: plainStatus(event.status) }
        : event
    case 'message':
    case 'artifact':
      return event
  }
}

function outcomeForReader(outcome: Outcome, form: ReaderForm): Outcome {
  if (outcome.type !== 'task') return outcome
  const task = taskForReader(outcome.task, form)
  return task === outcome.task ? outcome : { ...outcome, task }
}

function taskForReader(task: Task, form: ReaderForm): Task {
  const { hasPlainQuestions, hasAnswerArtifacts, hasOnlyArtifacts, repeatsAnswers } = form
  const isAnswer =
    task.status.isAnswer || (hasOnlyArtifacts && task.artifacts.length === 0 && isEnded(task.status.state))
  const answered = hasAnswerArtifacts && isAnswer ? withAnswerArtifact(task, { keepsMessage: repeatsAnswers }) : task
  if (!hasPlainQuestions || !hasInputRequest(answered)) return answered
  return { ...answered, status: plainStatus(answered.status), history: answered.history.map(toPlainQuestion) }
}

/** A list without artifacts keeps the answers where they are. */
function pageForReader(page: TaskPage, form: ReaderForm, request: RequestOf<'listTasks'> | undefined): TaskPage {
  const listForm = { ...form, hasAnswerArtifacts: form.hasAnswerArtifacts && request?.includeArtifacts === true }
  return { ...page, tasks: page.tasks.map((task) => taskForReader(task, listForm)) }
}

function plainStatus(status: TaskStatus): TaskStatus {
  return status.message ? { ...status, message: toPlainQuestion(status.message) } : status
}

function hasInputRequest({ status: { message }, history }: Task): boolean {
  return requestsInput(message) || history.some(requestsInput)
}

function requestsInput(message: Message | undefined): boolean {
  return message?.metadata?.[clientTools] !== undefined
}
