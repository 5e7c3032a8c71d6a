import type { AgentFunction } from '../../../src/agent/agent.ts'
import type { Service } from '../../../src/protocol/service.ts'

/** A service in front of an agent, and how much of the model reaches it. */
export interface ServiceContract {
  /** Released after the test. */
  readonly open: (run: AgentFunction) => Promise<Service>
  /** An agent may answer with a message; otherwise every answer is a task. */
  readonly hasMessages?: boolean
  /** A stream begins with the task; otherwise with its status. */
  readonly tellsTask?: boolean
  /** Callers may ask for an answer before the task rests. */
  readonly canReturnImmediately?: boolean
  readonly canList?: boolean
  /** A send that is repeated under its key is recognised. */
  readonly canRepeat?: boolean
  /** A stream goes on after an event that was seen. */
  readonly canResume?: boolean
  /** Configs can also be listed and deleted, and there may be an extended card. */
  readonly isComplete?: boolean
  /** How a message to a task that has ended is refused. */
  readonly ended?: 'task-ended' | 'unsupported-operation'
  /** What following a task that has ended comes to: its end, or the same refusal. */
  readonly followedTooLate?: 'the task' | 'an error'
}
