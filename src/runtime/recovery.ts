import type { Recovery, RecoveryPolicy } from '../agent/agent.ts'

/** What becomes of a turn whose process is gone. */
export interface RecoverySettings {
  readonly policy: RecoveryPolicy
  readonly attempts: number
  /** What is needed to go on is written down. Agents that just fail pay nothing for it. */
  readonly isKept: boolean
}

const policies: readonly string[] = ['fail', 'retry', 'resume'] satisfies RecoveryPolicy[]

export function readRecovery(recovery: Recovery): RecoverySettings {
  const { policy, attempts = 3 } = typeof recovery === 'string' ? { policy: recovery } : recovery
  if (!policies.includes(policy)) {
    throw new TypeError(`recovery: expected fail, retry or resume, got ${JSON.stringify(policy)}`)
  }
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new TypeError(`recovery.attempts: expected a whole number from 1 on, got ${attempts}`)
  }
  return { policy, attempts, isKept: policy !== 'fail' }
}
