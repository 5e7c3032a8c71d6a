import { defined, isObject } from '../../base/json.ts'
import type { ClientDialect, ErrorDecoder } from '../../dialects/dialect.ts'
import { codeOfHttpStatus, codeOfName, decodeError, decodeHttpError } from '../../dialects/errors.ts'
import { BodyTooLarge } from '../../http/exchange.ts'
import { networkFailureOf, networkFailureTexts } from '../../http/network-failure.ts'
import { EventTooLarge, StreamSilent } from '../../http/sse-reader.ts'
import { A2AError, type ErrorCode, withContext } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'
import { excerpt } from '../../schema/schema.ts'
import { type ResponseContent, type ResponseSummary, summarize } from './read-response.ts'

export function notInDialect(operation: Operation, version: string, binding: string): A2AError {
  const problem = `A2A ${version} has no operation ${operation} over ${binding}.`
  return new A2AError('unsupported-operation', problem, { reason: 'not-in-dialect' })
}

/** The error decoder of a dialect. All versions since 0.2 have the same, unless the dialect has its own. */
export function errorDecoderOf({ errors }: ClientDialect): ErrorDecoder {
  return errors ?? { decodeError, decodeHttpError }
}

/**
 * The error for anything thrown between a request and the end of its response. An abort reason that is an `A2AError`,
 * such as a deadline, is that error.
 */
export function networkError(thrown: unknown, url: string, signal: AbortSignal): A2AError {
  const error = signal.aborted && !(thrown instanceof A2AError) ? signal.reason : thrown
  if (error instanceof A2AError) return error
  if (error instanceof StreamSilent) return streamSilent(url, error.idle)
  if (signal.aborted) return callAborted(signal)
  if (error instanceof BodyTooLarge || error instanceof EventTooLarge) {
    const problem = `The response of ${url} is too large: ${error.message}.`
    return new A2AError('payload-too-large', problem, { cause: error, url, reason: 'answer-too-large' })
  }
  const failure = networkFailureOf(error)
  // A fetch that refuses to call an address says why, and how to allow it.
  const isRefused = failure === 'guarded' && error instanceof Error
  const problem = isRefused ? `is not called: ${error.message}` : `cannot be reached: ${networkFailureTexts[failure]}`
  const hint = isRefused && 'hint' in error ? (error.hint as string) : undefined
  return new A2AError('unavailable', `${url} ${problem}.`, { cause: error, url, reason: failure, hint })
}

function streamSilent(url: string, milliseconds: number): A2AError {
  const problem = `The stream of ${url} is silent: no event came for ${milliseconds / 1000} seconds.`
  return new A2AError('unavailable', problem, { url, reason: 'silent' })
}

function callAborted({ reason }: AbortSignal): A2AError {
  return new A2AError('unavailable', 'The call was aborted before there was an answer.', {
    cause: reason,
    reason: 'aborted',
  })
}

/** The error for a response that is not A2A: of a proxy, of another program, or of a page at the wrong path. */
export function notA2AError(content: ResponseContent): A2AError {
  const summary = summarize(content)
  const { status, url, challenge, retryAfter } = summary
  const detail = messageIn(summary.body) ?? (summary.excerpt === '' ? undefined : excerpt(summary.excerpt))
  const problem = status < 400 ? formTexts[summary.form] : `answered with HTTP status ${status}`
  return new A2AError(codeOfForeign(summary), `${url} ${problem}${detail === undefined ? '.' : `: ${detail}`}`, {
    cause: summary,
    url,
    status,
    reason: reasonOf(summary),
    retryAfter,
    ...defined({ metadata: challenge === undefined ? undefined : { challenge } }),
  })
}

/** The members in which frameworks put the message of an error. */
function messageIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { error, message, detail, title } = body
  if (isObject(error)) return messageIn(error)
  const text = [message, detail, error, title].find((member) => typeof member === 'string' && member !== '')
  return typeof text === 'string' ? excerpt(text) : undefined
}

const formTexts: Readonly<Record<ResponseSummary['form'], string>> = {
  json: 'answered with JSON that is not A2A',
  empty: 'answered with nothing',
  html: 'answered with a web page instead of JSON',
  text: 'answered with something that is not JSON',
}

function codeOfForeign({ status }: ResponseSummary): ErrorCode {
  if (status < 400) return 'invalid-agent-response'
  // Not `task-not-found`: no agent answered, so nothing is known about the task.
  if (status === 404 || status === 405 || status === 410) return 'method-not-found'
  return status === 502 ? 'unavailable' : codeOfHttpStatus(status)
}

function reasonOf({ status, form }: ResponseSummary): string {
  if (status === 404 || status === 405 || status === 410) return 'wrong-path'
  if (status === 502 || status === 503 || status === 504) return 'gateway'
  if (status >= 400) return `http-${status}`
  return form === 'json' ? 'not-a2a' : form === 'html' ? 'html' : 'not-json'
}

/**
 * Adds the software of the agent to an error about an answer that breaks the rules, if the answer names it: its authors
 * can correct it.
 */
export function withSoftware(thrown: unknown, headers: Headers): unknown {
  if (!(thrown instanceof A2AError) || thrown.code !== 'invalid-agent-response') return thrown
  const names = ['server', 'x-powered-by'].map((name) => headers.get(name)?.trim()).filter(Boolean)
  if (names.length === 0 || thrown.metadata.software !== undefined) return thrown
  const software = names.join(', ').slice(0, 100)
  const message = `${thrown.message.replace(/\.$/, '')}. The agent names its software as ${excerpt(software)}.`
  return withContext(thrown, { message, metadata: { ...thrown.metadata, software } })
}

/** Adds to an error of the agent what only HTTP says: the status, the challenge and `Retry-After`. */
export function withHttpDetails(error: A2AError, content: ResponseContent): A2AError {
  const { status, url, challenge, retryAfter } = summarize(content)
  const { code, message, metadata } = error
  const isVague = code === 'internal' || code === 'invalid-request'
  const precise = preciseStatuses.has(status) ? codeOfHttpStatus(status) : codeOfMessage(message)
  return withContext(error, {
    ...defined({
      code: isVague ? precise : undefined,
      metadata: challenge === undefined ? undefined : { ...metadata, challenge },
    }),
    retryAfter: error.retryAfter ?? retryAfter,
    url,
    status,
  })
}

/** The statuses that say more than a vague error code. */
const preciseStatuses: ReadonlySet<number> = new Set([401, 403, 413, 429, 503, 504])

/** Several releases of the official SDKs report every error as an internal one; their messages still say which it is. */
export function codeOfMessage(message: string): ErrorCode | undefined {
  const [, className] = /^(\w{1,80}Error): /.exec(message) ?? []
  return codeOfName(className) ?? messagePatterns.find(([pattern]) => pattern.test(message))?.[1]
}

const messagePatterns: readonly (readonly [RegExp, ErrorCode])[] = [
  [/task (with id \S+ )?not found|task \S+ (was specified but )?does not exist/i, 'task-not-found'],
  [/task (\S+ (cannot be|is not) cancel|not cancelable|cannot be canceled)/i, 'task-not-cancelable'],
  [/terminal state/i, 'task-ended'],
  [/push notifications? (is|are) not supported/i, 'push-not-supported'],
]
