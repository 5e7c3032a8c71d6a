import { A2AError, withContext } from '../../protocol/errors.ts'
import type { ResponseSummary } from '../../transports/client/read-response.ts'
import { hints, type Misconfiguration, type Situation } from './hints.ts'

/** Where something else came: the enums of 1.0, and the parts, which before said by `kind` or `type` what they were. */
const objectsOf1_0 = /expected one of (ROLE|TASK_STATE)_.* got "|expected exactly one of text, raw, url, data/

/** The error again, with the misconfiguration that it points to and what to do about it, where that is known. */
export function diagnose(error: unknown, situation: Situation): A2AError {
  const failure = error instanceof A2AError ? error : unexpected(error)
  if (failure.hint !== undefined) return failure
  const reason = misconfigurationIn(failure, situation) ?? failure.reason
  const hint = reason !== undefined && Object.hasOwn(hints, reason) ? hints[reason as Misconfiguration] : undefined
  return withContext(failure, { reason, hint: hint?.(failure, situation) })
}

function unexpected(error: unknown): A2AError {
  const text = error instanceof Error ? error.message : `${error}`
  return new A2AError('internal', `The call failed in the client: ${text}`, { cause: error, reason: 'client' })
}

function misconfigurationIn(error: A2AError, situation: Situation): Misconfiguration | undefined {
  const { code, reason, status, violations } = error
  if (code === 'unauthenticated') return wrongCredentials(error, situation)
  if (code === 'forbidden') return notAllowed(error)
  if (code === 'version-not-supported' || (code === 'method-not-found' && reason === undefined)) return 'version-skew'
  if (code === 'extension-required') return 'extension-missing'
  if (code === 'rate-limited') return 'too-many-calls'
  if (code === 'payload-too-large' && reason !== 'answer-too-large') return 'request-too-large'
  if (code === 'content-type-not-supported' && status === 415) return 'content-type-lost'
  if (violations.some(({ field }) => field === 'tenant')) return 'tenant-missing'
  if (isLocalAddress(error, situation)) return 'local-address'
  if (code === 'invalid-agent-response' && objectsOf1_0.test(error.message)) return 'mixed-versions'
  return mistakeInAnswer(error)
}

function wrongCredentials(error: A2AError, { hasCredentials, card }: Situation): Misconfiguration {
  if (!hasCredentials) return card === undefined ? 'card-protected' : 'credentials-missing'
  return /audience/i.test(wordsOf(error)) ? 'wrong-audience' : 'credentials-refused'
}

function wordsOf(error: A2AError): string {
  return `${challengeOf(error)} ${error.message}`
}

function challengeOf({ metadata }: A2AError): string {
  return metadata.challenge ?? ''
}

function notAllowed(error: A2AError): Misconfiguration {
  if (/insufficient_scope/.test(challengeOf(error))) return 'scope-missing'
  return /audience/i.test(wordsOf(error)) ? 'wrong-audience' : 'not-allowed'
}

/** An address that means something else wherever it is read. */
function isLocalAddress({ url, reason }: A2AError, { cardUrl }: Situation): boolean {
  if (url === undefined || cardUrl === undefined || !URL.canParse(url)) return false
  if (reason !== 'connection-refused' && reason !== 'name-not-found' && reason !== 'host-unreachable') return false
  const { hostname, host } = new URL(url)
  const isLocal = /^(localhost|0\.0\.0\.0|127\.|\[::1?\])|\.(local|internal|svc)$|^[^.:]+$/.test(hostname)
  return isLocal && host !== new URL(cardUrl).host
}

/** What came instead of an answer of A2A may say more than its status. */
function mistakeInAnswer({ cause, status, reason }: A2AError): Misconfiguration | undefined {
  if (!isAnswer(cause)) return undefined
  if (status === 400 && /plain HTTP request|HTTP request to an HTTPS/i.test(cause.excerpt)) return 'needs-https'
  if (reason === 'wrong-path' && cause.wasRedirected) return 'redirected'
  return undefined
}

function isAnswer(cause: unknown): cause is ResponseSummary {
  return typeof cause === 'object' && cause !== null && 'excerpt' in cause
}
