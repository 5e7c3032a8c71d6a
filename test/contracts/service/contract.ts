import type { AgentFunction } from '../../../src/agent/agent.ts'
import type { Turn } from '../../../src/agent/turn.ts'
import type { A2AError } from '../../../src/protocol/errors.ts'
import type { StreamEvent } from '../../../src/protocol/events.ts'
import type { Artifact, Part, Task } from '../../../src/protocol/model.ts'
import { textOf } from '../../../src/protocol/model.ts'
import type { Service } from '../../../src/protocol/service.ts'

/** A service in front of an agent, and how much of the model reaches it. */
export interface ServiceContract {
  /** Released after the test. */
  readonly open: (run: AgentFunction) => Promise<Service>
  /** An agent may answer with a message; otherwise every answer is a task. */
  readonly hasMessages?: boolean
  /** A stream begins with the task; otherwise with its status. */
  readonly startsWithTask?: boolean
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
  readonly endedTaskError?: 'task-ended' | 'unsupported-operation'
  /** What following a task that has ended comes to: its end, or the same refusal. */
  readonly lateSubscription?: 'the task' | 'an error'
}

/** Does with a message whatever a caller has to understand: an answer, a question, a long wait, or work in pieces. */
export async function countingAgent(turn: Turn): Promise<string | undefined> {
  switch (turn.text) {
    case 'hello':
      return 'hi'
    case 'ask':
      await turn.status('working', 'Thinking')
      await turn.requireInput('Up to what?')
      return undefined
    case 'wait':
      await turn.status('working', 'Waiting')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      return undefined
    case 'fail':
      await turn.fail('Out of fingers')
      return undefined
  }
  await turn.status('working', 'Counting')
  const numbers = turn.artifact('numbers')
  for (const number of ['one', 'two', 'three']) await numbers.write(number)
  await numbers.close()
  await turn.status('completed', 'Counted')
  return undefined
}

/** What an event says, in words. */
export function describeEvent(event: StreamEvent): string {
  switch (event.type) {
    case 'message':
      return `message: ${textOf(event.message)}`
    case 'task':
      return `task ${stateOf(event.task)}`
    case 'status': {
      const { state, message } = event.status
      return `status ${state}${message ? `: ${textOf(message)}` : ''}`
    }
    case 'artifact':
      return `artifact ${textsOf(event.artifact)}${event.append ? ', more' : ''}${event.lastChunk ? ', last' : ''}`
  }
}

export function stateOf({ status }: Task): string {
  return status.state
}

export function textsOf({ parts }: Artifact): string {
  return parts.map(partText).join('|')
}

function partText(part: Part): string {
  return 'text' in part ? part.text : JSON.stringify(part)
}

export function taskIdOf(event: StreamEvent | undefined): string {
  if (event?.type === 'task') return event.task.id
  return event === undefined || event.type === 'message' ? '' : event.taskId
}

export function generationOf(event: StreamEvent): number {
  switch (event.type) {
    case 'message':
      return 0
    case 'task':
      return event.task.generation
    case 'status':
    case 'artifact':
      return event.generation
  }
}

/** The code of the error that a try must end in. */
export async function codeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    return `no error, but ${JSON.stringify(await attempt)}`
  } catch (error) {
    return (error as A2AError).code ?? `${error}`
  }
}
