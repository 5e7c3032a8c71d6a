import { type Agent, agent, type RecoveryPolicy } from '../../src/core/agent/agent.ts'
import type { Turn } from '../../src/core/agent/turn.ts'
import { type Clock, sleep } from '../../src/core/base/clock.ts'

/** What the agent of the simulation does with the first message of a task, by its text. */
export const behaviours = [
  'reply',
  'complete',
  'write',
  'hurry',
  'rest',
  'ask',
  'ask twice',
  'ask shortly',
  'ask and go on',
  'step',
  'think',
  'ignore',
  'throw',
] as const

export type Behaviour = (typeof behaviours)[number]

/** Begins what the agent says when it is done, so that it differs from what the runtime says. */
export const doneMark = 'done:'

/** Milliseconds that a question waits which expires. */
const shortly = 2_000

export interface SimulatedAgentOptions {
  readonly policy: RecoveryPolicy
  readonly clock: Clock
  /** Called with the id of every message that the agent gets. */
  readonly onMessage: (messageId: string) => void
}

export function createSimulatedAgent({ policy, clock, onMessage }: SimulatedAgentOptions): Agent {
  async function ask(turn: Turn, options?: { timeout: number; onTimeout?: 'fail' | 'continue' }): Promise<string> {
    const { text, message } = await turn.ask('Which one?', options)
    onMessage(message.messageId)
    return text
  }

  async function start(turn: Turn, behaviour: string): Promise<string | undefined> {
    switch (behaviour as Behaviour) {
      case 'reply':
        return `${doneMark} hello`
      case 'complete':
        await turn.status('working', 'On it')
        return `${doneMark} completed`
      case 'write': {
        const artifact = turn.artifact('text')
        for (const chunk of ['a', 'b', 'c']) await artifact.write(chunk)
        await artifact.close()
        return `${doneMark} written`
      }
      case 'hurry': {
        const artifact = turn.artifact('text')
        for (const chunk of ['a', 'b', 'c']) void artifact.write(chunk).catch(() => {})
        return `${doneMark} written`
      }
      case 'rest':
        await turn.requireInput('Which one?')
        return undefined
      case 'ask':
        return `${doneMark} ${await ask(turn)}`
      case 'ask twice':
        return `${doneMark} ${await ask(turn)} and ${await ask(turn)}`
      case 'ask shortly':
        return `${doneMark} ${await ask(turn, { timeout: shortly })}`
      case 'ask and go on':
        try {
          return `${doneMark} ${await ask(turn, { timeout: shortly, onTimeout: 'continue' })}`
        } catch (error) {
          if (turn.signal.aborted) throw error
          return `${doneMark} without an answer`
        }
      case 'step': {
        const first = await turn.step('first', () => 1)
        await turn.status('working', 'First step done')
        const second = await turn.step('second', () => 2)
        return `${doneMark} ${first + second}`
      }
      case 'think':
        await turn.status('working', 'Thinking')
        await sleep(1_200, turn.signal, clock)
        turn.signal.throwIfAborted()
        return `${doneMark} thought`
      case 'ignore':
        await turn.status('working', 'Thinking')
        await sleep(2_000, new AbortController().signal, clock)
        return `${doneMark} ignored everything`
      case 'throw':
        throw new Error('The agent has a bug.')
    }
  }

  return agent({ name: 'Simulated', recovery: policy }, async (turn) => {
    onMessage(turn.message.messageId)
    if (turn.task) {
      await turn.status('working', 'Again')
      return `${doneMark} ${turn.text}`
    }
    return await start(turn, turn.text)
  })
}
