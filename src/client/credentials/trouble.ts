import { A2AError } from '../../protocol/errors.ts'

/** Why there are no credentials. None of these texts may have a secret, nor what somebody answered to one. */
export type Trouble = 'unfit' | 'malformed' | 'not-secure' | 'not-trusted' | 'refused' | 'unreachable' | 'garbage'

/** Not transient: nothing was sent to the agent, or it was turned away. */
export function noCredentials(trouble: Trouble, problem: string, hint: string, cause?: unknown): A2AError {
  const reason = `credentials-${trouble}`
  return new A2AError('unauthenticated', problem, { reason, hint, ...(cause !== undefined && { cause }) })
}
