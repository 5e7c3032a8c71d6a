import type { Turn } from '../../../src/core/agent/turn.ts'
import type { WireEvent } from '../wire/wire-client.ts'

export const chunks = 30

/** Emits a status, thirty chunks of an artifact, and the end. */
export async function count(turn: Turn): Promise<void> {
  await turn.status('working')
  const numbers = turn.artifact('numbers')
  for (let n = 1; n < chunks; n++) await numbers.write(`${n}`)
  await numbers.close(`${chunks}`)
}

/** Asks a question in the first turn. Any answer completes the task. */
export async function askOnce(turn: Turn): Promise<void> {
  if (turn.history.length === 0) await turn.requireInput('Which one?')
}

export const numbers = Array.from({ length: chunks }, (_, index) => `${index + 1}`)

export const generationsOf = (events: readonly WireEvent[]) => events.map(({ generation }) => generation)
export const resultsOf = (events: readonly WireEvent[]) => events.map(({ result }) => result)
export const taskIdOf = (events: readonly WireEvent[]) => events[0]?.result?.task?.id ?? ''

/** The states and texts of a stream in order. */
export function linesOf(events: readonly WireEvent[]): string[] {
  return events.map(({ result }) => {
    if (result?.task) return result.task.status.state
    if (result?.statusUpdate) return result.statusUpdate.status.state
    return `${result?.artifactUpdate?.artifact.parts[0]?.text}`
  })
}

export async function nextOf(events: AsyncGenerator<WireEvent>): Promise<WireEvent> {
  const { value, done } = await events.next()
  if (done) throw new Error('the stream ended early')
  return value
}
