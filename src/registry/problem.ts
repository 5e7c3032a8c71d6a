import { isRefused } from '../http/guard/request-refused.ts'
import { A2AError } from '../protocol/errors.ts'

const maxLength = 300

/** What went wrong, as anybody may read it: where names lead in our network is nobody's business. */
export function sayProblem(error: unknown): string {
  if (isGuarded(error)) return 'It is at, or leads to, an address that this registry does not ask.'
  const text = error instanceof Error ? error.message : String(error)
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}

/** A guard kept us from asking. */
export function isGuarded(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (isRefused(cause) || (cause instanceof A2AError && cause.reason === 'guarded')) return true
  }
  return false
}
