import { neverConnected } from '../../http/network-failure.ts'
import { A2AError, withContext } from '../../protocol/errors.ts'
import type { ResponseSummary } from '../../transports/client/read-response.ts'
import { type FailureContext, hintFor, type Misconfiguration } from './hints.ts'

/** Violations of the 1.0 schema by objects of older versions: their enums, and parts with a `kind` or `type`. */
const olderObjects = /expected one of (ROLE|TASK_STATE)_.* got "|expected exactly one of text, raw, url, data/

/** Returns the error with the misconfiguration that it points to and a hint, where they are known. */
export function diagnoseFailure(thrown: unknown, context: FailureContext): A2AError {
  const error = thrown instanceof A2AError ? thrown : unexpectedError(thrown)
  if (error.hint !== undefined) return error
  const reason = misconfigurationIn(error, context) ?? error.reason
  return withContext(error, { reason, hint: reason && hintFor(reason, error, context) })
}

function unexpectedError(thrown: unknown): A2AError {
  const text = thrown instanceof Error ? thrown.message : `${thrown}`
  return new A2AError('internal', `The call failed in the client: ${text}`, { cause: thrown, reason: 'client' })
}

function misconfigurationIn(error: A2AError, context: FailureContext): Misconfiguration | undefined {
  const { code, reason, status, violations } = error
  if (code === 'unauthenticated') return credentialsProblem(error, context)
  if (code === 'forbidden') return permissionProblem(error)
  if (code === 'version-not-supported' || (code === 'method-not-found' && reason === undefined)) return 'version-skew'
  if (code === 'extension-required') return 'extension-missing'
  if (code === 'rate-limited') return 'too-many-calls'
  if (code === 'payload-too-large' && reason !== 'answer-too-large') return 'request-too-large'
  if (code === 'content-type-not-supported' && status === 415) return 'content-type-lost'
  if (violations.some(({ field }) => field === 'tenant')) return 'tenant-missing'
  if (isLocalAddress(error, context)) return 'local-address'
  if (code === 'invalid-agent-response' && olderObjects.test(error.message)) return 'mixed-versions'
  return responseProblem(error)
}

function credentialsProblem(error: A2AError, { hasCredentials, card }: FailureContext): Misconfiguration {
  if (!hasCredentials) return card === undefined ? 'card-protected' : 'credentials-missing'
  return mentionsAudience(error) ? 'wrong-audience' : 'credentials-refused'
}

function permissionProblem(error: A2AError): Misconfiguration {
  if (/insufficient_scope/.test(challengeOf(error))) return 'scope-missing'
  return mentionsAudience(error) ? 'wrong-audience' : 'not-allowed'
}

function mentionsAudience(error: A2AError): boolean {
  return /audience/i.test(`${challengeOf(error)} ${error.message}`)
}

function challengeOf({ metadata }: A2AError): string {
  return metadata.challenge ?? ''
}

/** Whether the card names an address that means another machine wherever it is read. */
function isLocalAddress({ url, reason = '' }: A2AError, { cardUrl }: FailureContext): boolean {
  if (url === undefined || cardUrl === undefined || !neverConnected.has(reason) || !URL.canParse(url)) return false
  const { hostname, host } = new URL(url)
  const isLocal = /^(localhost|0\.0\.0\.0|127\.|\[::1?\])|\.(local|internal|svc)$|^[^.:]+$/.test(hostname)
  return isLocal && host !== new URL(cardUrl).host
}

/** A response that is not A2A may say more than its status. */
function responseProblem({ cause, status, reason }: A2AError): Misconfiguration | undefined {
  if (!isResponseSummary(cause)) return undefined
  if (status === 400 && /plain HTTP request|HTTP request to an HTTPS/i.test(cause.excerpt)) return 'needs-https'
  if (reason === 'wrong-path' && cause.wasRedirected) return 'redirected'
  return undefined
}

function isResponseSummary(cause: unknown): cause is ResponseSummary {
  return typeof cause === 'object' && cause !== null && 'excerpt' in cause
}
