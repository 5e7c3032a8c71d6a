import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import type { A2AError } from '../../../src/core/protocol/errors.ts'
import type { StreamEvent } from '../../../src/core/protocol/events.ts'
import type { Artifact, Part, Task } from '../../../src/core/protocol/model.ts'
import { textOf } from '../../../src/core/protocol/model.ts'
import type { Service } from '../../../src/core/protocol/service.ts'

/** How to open a service for an agent, and which features its protocol version supports. */
export interface ServiceContract {
  /** Opens a service that is released after the test. */
  readonly open: (run: AgentFunction) => Promise<Service>
  /** Whether an agent can answer with a message; otherwise every answer is a task. */
  readonly hasMessages?: boolean
  /** Whether a stream begins with the task; otherwise with its status. */
  readonly startsWithTask?: boolean
  /** Whether one operation returns the extended card or, without one, the public card. */
  readonly hasOneCard?: boolean
  /** Whether a send can return before the task has ended. */
  readonly canReturnImmediately?: boolean
  readonly canList?: boolean
  /** Whether idempotency keys are supported. */
  readonly canRepeat?: boolean
  /** Whether streams can be resumed. */
  readonly canResume?: boolean
  /** Whether push configs can also be listed and deleted, and extended cards read. */
  readonly isComplete?: boolean
  /** The error code of a message to an ended task. */
  readonly endedTaskError?: 'task-ended' | 'unsupported-operation'
  /** The result of a subscription to an ended task. */
  readonly lateSubscription?: 'the task' | 'an error'
}

/** An agent that answers, asks, waits, fails, or counts in chunks, depending on the message. */
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
  for (const number of ['one', 'two']) await numbers.write(number)
  // Closed without content, the artifact would end with an event of its own if its last chunk was read before.
  await numbers.close('three')
  await turn.status('completed', 'Counted')
  return undefined
}

/** A short text for an event. */
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

/** The error code of a call that must fail. */
export async function codeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    return `no error, but ${JSON.stringify(await attempt)}`
  } catch (error) {
    return (error as A2AError).code ?? `${error}`
  }
}
