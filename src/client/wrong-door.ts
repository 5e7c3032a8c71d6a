import type { Door } from '../dialects/doors.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { Service } from '../protocol/service.ts'

/**
 * What a failure says of the door: no connection comes about, nobody of A2A is behind it, or somebody who speaks
 * another version, or this version in another form. In all cases nobody has begun to work on what was asked.
 */
export type Verdict = 'unreachable' | 'nobody' | 'another-dialect' | 'another-form'

export interface Failure {
  readonly door: Door
  readonly error: A2AError
  readonly verdict: Verdict
}

/** Undefined if the door is not to blame. */
export function verdictOn({ code, reason }: A2AError, operation: keyof Service, door: Door): Verdict | undefined {
  if (reason !== undefined && unreachable.has(reason)) return 'unreachable'
  if (reason === 'wrong-path' || reason === 'html') return 'nobody'
  if (reason !== undefined && isReading(operation) && (reason === 'not-json' || reason === 'not-a2a')) return 'nobody'
  if (reason === 'not-in-dialect') return undefined
  if (code === 'method-not-found' || code === 'version-not-supported') return 'another-dialect'
  // Servers of 0.1 validate the method like any other member.
  if (code === 'invalid-request' && door.binding === 'JSONRPC') return 'another-dialect'
  // Over REST two forms of one version have the same paths, and one takes the objects of the other for wrong params.
  if (code === 'invalid-params' && door.binding === 'HTTP+JSON') return 'another-form'
  if (code === 'invalid-agent-response' && isReading(operation)) return 'another-dialect'
  return undefined
}

/** What was tried already is not tried again under another name. */
export function isWorthTrying(door: Door, failures: readonly Failure[]): boolean {
  if (failures.some((failure) => rulesOut(failure, door))) return false
  switch (door.origin) {
    case 'card':
      return true
    case 'skew':
      return failures.some(({ door: failed, verdict }) => verdict !== 'unreachable' && isSamePlace(failed, door))
    case 'relative':
      return failures.some(({ verdict }) => verdict === 'unreachable' || verdict === 'nobody')
  }
}

function rulesOut({ door: failed, verdict }: Failure, door: Door): boolean {
  switch (verdict) {
    case 'unreachable':
      return new URL(failed.url).origin === new URL(door.url).origin
    case 'nobody':
      // Over REST another dialect has other paths.
      return isSamePlace(failed, door) && door.binding === 'JSONRPC'
    case 'another-dialect':
      return false
    case 'another-form':
      return !isSamePlace(failed, door) || failed.dialect.version !== door.dialect.version
  }
}

function isSamePlace(one: Door, other: Door): boolean {
  return one.binding === other.binding && one.url === other.url
}

function isReading(operation: keyof Service): boolean {
  return operation.startsWith('get') || operation.startsWith('list') || operation === 'subscribeToTask'
}

const unreachable: ReadonlySet<string> = new Set([
  'connection-refused',
  'name-not-found',
  'host-unreachable',
  'certificate',
  'not-tls',
  'not-http',
  'bad-url',
  'guarded',
])
