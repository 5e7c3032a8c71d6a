import { isObject } from '../../base/json.ts'
import type { ClientDialect, ErrorDecoder } from '../../dialects/dialect.ts'
import { codeOfHttpStatus, decodeError, decodeHttpError } from '../../dialects/errors.ts'
import { BodyTooLarge } from '../../http/exchange.ts'
import { type NetworkFailure, networkFailureOf } from '../../http/network-failure.ts'
import { EventTooLarge, StreamSilent } from '../../http/sse-reader.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'
import { excerpt } from '../../schema/schema.ts'
import { type Answer, type ResponseSummary, tellAnswer } from './read-response.ts'

export function notInDialect(operation: Operation, version: string, binding: string): A2AError {
  const problem = `A2A ${version} has no way to ask for it over ${binding}: ${operation}.`
  return new A2AError('unsupported-operation', problem, { reason: 'not-in-dialect' })
}

/** An answer that is none of A2A: of a proxy, of another program, or of a page that is in the wrong place. */
export function notA2AError(given: Answer): A2AError {
  const answer = tellAnswer(given)
  const { status, url, challenge, retryAfter } = answer
  const told = messageIn(answer.body) ?? (answer.excerpt === '' ? undefined : excerpt(answer.excerpt))
  const what = status < 400 ? sayingsForeignAnswer[answer.form] : `answered with HTTP status ${status}`
  return new A2AError(codeOf(answer), `${url} ${what}${told === undefined ? '.' : `: ${told}`}`, {
    cause: answer,
    url,
    status,
    reason: reasonOf(answer),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(challenge !== undefined && { metadata: { challenge } }),
  })
}

/** An error that the agent told, with what HTTP says beside it where the body has no word for it. */
export function withHttpDetails(error: A2AError, answer: Answer): A2AError {
  const { status, url, challenge, retryAfter } = tellAnswer(answer)
  const { code, message, violations, metadata } = error
  const isVague = code === 'internal' || code === 'invalid-request'
  return new A2AError(isVague ? (httpCodes.get(status) ?? meantBy(message) ?? code) : code, message, {
    cause: error.cause,
    violations,
    metadata: challenge === undefined ? metadata : { ...metadata, challenge },
    retryAfter: error.retryAfter ?? retryAfter,
    url,
    status,
  })
}

export function errorsOf({ errors }: ClientDialect): ErrorDecoder {
  return errors ?? { decodeError, decodeHttpError }
}

/**
 * What was thrown between a request and the end of its answer, as the one error that callers see. Whoever aborts may
 * say why by an error, such as that the time was up.
 */
export function networkError(thrown: unknown, url: string, signal: AbortSignal): A2AError {
  const error = signal.aborted && !(thrown instanceof A2AError) ? signal.reason : thrown
  if (error instanceof A2AError) return error
  if (error instanceof StreamSilent) return silent(url, error.idle)
  if (signal.aborted) return givenUp(signal)
  if (error instanceof BodyTooLarge || error instanceof EventTooLarge) {
    const problem = `The answer of ${url} is not read: ${error.message}.`
    return new A2AError('payload-too-large', problem, { cause: error, url, reason: 'answer-too-large' })
  }
  const failure = networkFailureOf(error)
  const problem =
    failure === 'guarded' && error instanceof Error
      ? `${url} is not asked: ${error.message}.`
      : `${url} cannot be reached: ${sayings[failure]}.`
  return new A2AError('unavailable', problem, {
    cause: error,
    url,
    reason: failure,
  })
}

/** Several releases of the official SDKs tell every error as an internal one; their messages still say which it is. */
export function meantBy(message: string): ErrorCode | undefined {
  return sentences.find(([sentence]) => sentence.test(message))?.[1]
}

function silent(url: string, milliseconds: number): A2AError {
  const problem = `The stream of ${url} is silent: nothing came for ${milliseconds / 1000} seconds.`
  return new A2AError('unavailable', problem, { url, reason: 'silent' })
}

function givenUp({ reason }: AbortSignal): A2AError {
  return new A2AError('unavailable', 'The call was given up before there was an answer.', {
    cause: reason,
    reason: 'aborted',
  })
}

const sayings: Readonly<Record<NetworkFailure, string>> = {
  'connection-refused': 'nothing listens there',
  'name-not-found': 'there is no host of that name',
  'host-unreachable': 'there is no way to that host',
  certificate: 'its certificate is not trusted',
  'not-tls': 'it does not speak TLS',
  'not-http': 'it does not speak HTTP',
  'bad-url': 'it is no address that can be asked',
  'redirect-loop': 'it redirects in a circle',
  guarded: 'the guard does not let it out',
  'connection-lost': 'the connection broke off',
  blocked: 'the request failed, and the platform does not say why',
}

/** Frameworks say it in one of these. */
function messageIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { error, message, detail, title } = body
  if (isObject(error)) return messageIn(error)
  const text = [message, detail, error, title].find((each) => typeof each === 'string' && each !== '')
  return typeof text === 'string' ? excerpt(text) : undefined
}

const sayingsForeignAnswer: Readonly<Record<ResponseSummary['form'], string>> = {
  json: 'answered with JSON that is no answer of A2A',
  empty: 'answered with nothing',
  html: 'answered with a web page instead of JSON',
  text: 'answered with something that is not JSON',
}

function codeOf({ status }: ResponseSummary): ErrorCode {
  if (status < 400) return 'invalid-agent-response'
  // There may be a task of that name, but nobody who would know.
  if (status === 404 || status === 405 || status === 410) return 'method-not-found'
  return status === 502 ? 'unavailable' : codeOfHttpStatus(status)
}

function reasonOf({ status, form }: ResponseSummary): string {
  if (status === 404 || status === 405 || status === 410) return 'wrong-path'
  if (status === 502 || status === 503 || status === 504) return 'gateway'
  if (status >= 400) return `http-${status}`
  return form === 'json' ? 'not-a2a' : form === 'html' ? 'html' : 'not-json'
}

const httpCodes: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [413, 'payload-too-large'],
  [429, 'rate-limited'],
  [503, 'unavailable'],
  [504, 'timeout'],
])

const sentences: readonly (readonly [RegExp, ErrorCode])[] = [
  [/task (with id \S+ )?not found/i, 'task-not-found'],
  [/task \S+ (cannot be|is not) cancel/i, 'task-not-cancelable'],
  [/task not cancelable/i, 'task-not-cancelable'],
  [/terminal state/i, 'task-ended'],
  [/push notifications? (is|are) not supported/i, 'push-not-supported'],
]
