import { excerpt } from '../dialects/excerpt.ts'
import { isObject } from '../dialects/is-object.ts'
import { codeOfHttpStatus } from '../dialects/rpc-status.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import type { Answer } from './read-answer.ts'
import { type ToldAnswer, tellAnswer } from './tell-answer.ts'

/** An answer that is none of A2A: of a proxy, of another program, or of a page that is in the wrong place. */
export function foreignAnswer(given: Answer): A2AError {
  const answer = tellAnswer(given)
  const { status, url, challenge, retryAfter } = answer
  const told = messageIn(answer.body) ?? (answer.excerpt === '' ? undefined : excerpt(answer.excerpt))
  const what = status < 400 ? sayings[answer.form] : `answered with HTTP status ${status}`
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
export function toldError(error: A2AError, answer: Answer): A2AError {
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

const httpCodes: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [413, 'payload-too-large'],
  [429, 'rate-limited'],
  [503, 'unavailable'],
  [504, 'timeout'],
])

/** Several releases of the official SDKs tell every error as an internal one; their messages still say which it is. */
export function meantBy(message: string): ErrorCode | undefined {
  return sentences.find(([sentence]) => sentence.test(message))?.[1]
}

const sentences: readonly (readonly [RegExp, ErrorCode])[] = [
  [/task (with id \S+ )?not found/i, 'task-not-found'],
  [/task \S+ (cannot be|is not) cancel/i, 'task-not-cancelable'],
  [/task not cancelable/i, 'task-not-cancelable'],
  [/terminal state/i, 'task-ended'],
  [/push notifications? (is|are) not supported/i, 'push-not-supported'],
]

const sayings: Readonly<Record<ToldAnswer['form'], string>> = {
  json: 'answered with JSON that is no answer of A2A',
  empty: 'answered with nothing',
  html: 'answered with a web page instead of JSON',
  text: 'answered with something that is not JSON',
}

function codeOf({ status }: ToldAnswer): ErrorCode {
  if (status < 400) return 'invalid-agent-response'
  // There may be a task of that name, but nobody who would know.
  if (status === 404 || status === 405 || status === 410) return 'method-not-found'
  return status === 502 ? 'unavailable' : codeOfHttpStatus(status)
}

function reasonOf({ status, form }: ToldAnswer): string {
  if (status === 404 || status === 405 || status === 410) return 'wrong-path'
  if (status === 502 || status === 503 || status === 504) return 'gateway'
  if (status >= 400) return `http-${status}`
  return form === 'json' ? 'not-a2a' : form === 'html' ? 'html' : 'not-json'
}

/** Frameworks say it in one of these. */
function messageIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { error, message, detail, title } = body
  if (isObject(error)) return messageIn(error)
  const text = [message, detail, error, title].find((each) => typeof each === 'string' && each !== '')
  return typeof text === 'string' ? excerpt(text) : undefined
}
