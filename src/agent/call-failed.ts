import type { ErrorCode } from '../protocol/errors.ts'
import type { TaskState } from '../protocol/model.ts'

export interface CallFailure {
  /** The name of the agent, or what it was called by. */
  readonly agent: string
  /** What happened, for the one who asked: with the other agent's own words, but none of the secrets it was sent. */
  readonly message: string
  readonly code?: ErrorCode
  /** How the other agent's task ended, if it came to that. */
  readonly state?: TaskState
  readonly taskId?: string
  /** Why nothing was sent: `loop`, `too-deep`, `past-deadline`, `out-of-budget`; or `canceled`, `timeout`. */
  readonly reason?: string
}

/** An agent that was asked gave no answer. What it said of it is not for our own callers, and is not shown to them. */
export class CallFailed extends Error implements CallFailure {
  override readonly name = 'CallFailed'
  readonly agent: string
  readonly code: ErrorCode | undefined
  readonly state: TaskState | undefined
  readonly taskId: string | undefined
  readonly reason: string | undefined

  constructor({ agent, message, code, state, taskId, reason }: CallFailure) {
    super(message)
    this.agent = agent
    this.code = code
    this.state = state
    this.taskId = taskId
    this.reason = reason
  }

  /** For whoever called us. */
  get callerText(): string {
    const word = this.state ?? this.reason ?? this.code
    return `The agent "${this.agent}", which was asked for help, gave no answer${word ? ` (${word})` : ''}.`
  }
}
