import { setTimeout as sleep } from 'node:timers/promises'
import { type Agent, agent, type Turn } from 'parley-a2a'
import { chunkOf, monotonic, type Plan, readPlan } from './plan.ts'

/** Lets a benchmark hold the agent back and observe its progress. */
export interface AgentControl {
  readonly gate: () => Promise<void>
  readonly onHalf: () => void
  readonly onFinished: () => void
}

/** Creates a long task for a plan, and a small one for any other text. */
export function createBenchAgent(control?: AgentControl): Agent {
  return agent({ name: 'Bench' }, async (turn) => {
    const plan = readPlan(turn.text)
    void turn.status('working')
    if (plan) {
      if (plan.gated) await control?.gate()
      await publish(turn, plan, control?.onHalf)
    }
    // Like the agent of the official SDK, it does not wait for the store; the response does.
    else void turn.artifact('answer').close('Hello from the bench')
    await turn.status('completed')
    control?.onFinished()
  })
}

async function publish(turn: Turn, plan: Plan, onHalf?: () => void): Promise<void> {
  const { chunks, bytes, window = 1, delay, updates = 0, open } = plan
  for (let number = 0; number < updates; number++) await turn.status('working')
  const output = turn.artifact('output')
  const inFlight: Promise<void>[] = []
  for (let number = 1; number < chunks; number++) {
    if (number === chunks - (chunks >> 1) + 1) onHalf?.()
    if (delay) await sleep(delay)
    const chunk = delay ? `${monotonic()}` : chunkOf(number, bytes)
    if (window === 1) await output.write(chunk)
    else {
      inFlight.push(output.write(chunk))
      if (inFlight.length >= window) await inFlight.shift()
    }
  }
  await output.close(chunkOf(chunks, bytes))
  if (open) await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
}
