import type { Turn } from '../../../src/agent/turn.ts'
import type { A2AError } from '../../../src/protocol/errors.ts'
import type { StreamEvent } from '../../../src/protocol/events.ts'
import type { Artifact, Part, Task } from '../../../src/protocol/model.ts'
import { textOf } from '../../../src/protocol/model.ts'

/** Does with a message whatever a caller has to understand: an answer, a question, a long wait, or work in pieces. */
export async function tell(turn: Turn): Promise<string | undefined> {
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
export function wordsOf(event: StreamEvent): string {
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
