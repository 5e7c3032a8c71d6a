import type { AgentProfile } from '../../../src/core/agent/agent.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'

export const profile = {
  name: 'Ada',
  description: 'Counts to three',
  version: '2.1.0',
  skills: [{ id: 'count', name: 'Count', description: 'Counts to three', tags: ['numbers'] }],
} satisfies AgentProfile

/** Reacts to a message in every way that a client must handle: a reply, a question, a long wait, or chunks. */
export async function count(turn: Turn): Promise<string | undefined> {
  if (turn.text === 'hello') return 'hi'
  await turn.status('working', 'Counting')
  if (turn.text === 'ask') {
    await turn.requireInput('Up to what?')
  } else if (turn.text === 'wait') {
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
  } else {
    const numbers = turn.artifact('numbers')
    for (const number of ['one', 'two', 'three']) await numbers.write(number)
    await numbers.close()
    await turn.status('completed', 'Counted')
  }
  return undefined
}
