import type { CallFailure } from '../../agent/call-agent.ts'
import { isObject } from '../../base/json.ts'
import type { Message, Task } from '../../protocol/model.ts'
import type { Journal } from '../recovery/journal.ts'

/**
 * The steps of a call. Everything in a call that differs between two attempts is the result of a step, so that a resumed
 * turn continues the same call. Names and results are stored in the journal: changing them breaks running tasks.
 */
export type CallStep =
  /** Creates `SendKeys`. */
  | 'key'
  /** Sends a message. Results in a `SendResult`. */
  | 'send'
  /** Follows the task of the other agent. Results in a `FollowResult`. */
  | 'follow'
  /** Waits for credentials. Results in the generation of the message that brought them, or 0. */
  | 'credentials'

export function callStepName(call: string, step: CallStep): string {
  return `${call}: ${step}`
}

export interface SendKeys {
  readonly messageId: string
  readonly idempotencyKey: string
  readonly contextId?: string
  /** Milliseconds since 1970. */
  readonly deadline?: number
}

export type SendResult =
  | FailedResult
  | { readonly agent: string; readonly message: Message }
  | { readonly link: ChildTaskLink }

export type FollowResult = FailedResult | { readonly task: Task } | ChildQuestion

export interface FailedResult {
  readonly failed: CallFailure
}

/** A task of another agent. */
export interface ChildTaskLink {
  readonly agent: string
  readonly taskId: string
  readonly contextId?: string | undefined
}

/** A question of another agent. */
export interface ChildQuestion {
  readonly asks: 'input-required' | 'auth-required'
  readonly question?: Message
  /** Its number in the `QuestionQueue` of the turn. */
  readonly ticket: number
}

/** Whether the journal of a turn has calls whose tasks have not ended. */
export function hasOpenCalls({ steps }: Pick<Journal, 'steps'>): boolean {
  const open = new Set<string>()
  for (const { value } of steps.values()) {
    const { call, step } = readCallStepName(value.step)
    if (call === undefined || !isObject(value.result)) continue
    if (step === 'send' && 'link' in value.result) open.add(call)
    if (step === 'follow' && !('asks' in value.result)) open.delete(call)
  }
  return open.size > 0
}

/** The inverse of `callStepName`. */
function readCallStepName(name: string): { readonly call?: string; readonly step?: string } {
  const [, call, step] = /^(.*): (key|send|follow|credentials)$/s.exec(name) ?? []
  return { call, step }
}
