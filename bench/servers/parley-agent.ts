import { setTimeout as sleep } from 'node:timers/promises'
import { type Agent, agent, type Turn } from 'parley-a2a'
import { chunkOf, monotonic, type Plan, readPlan } from './plan.ts'

/** For a bench that holds the agent back, and watches how far it has come. */
export interface Watch {
  readonly gate: () => Promise<void>
  readonly onHalf: () => void
  readonly onFinished: () => void
}

/** Makes a small task of any text, and a long one of a plan. */
export function createBenchAgent(watch?: Watch): Agent {
  return agent({ name: 'Bench' }, async (turn) => {
    const plan = readPlan(turn.text)
    void turn.status('working')
    if (plan) {
      if (plan.gated) await watch?.gate()
      await publish(turn, plan, watch?.onHalf)
    }
    // Published like the official SDK's agent publishes: without waiting for the store, which the answer waits for.
    else void turn.artifact('answer').close('Hello from the bench')
    await turn.status('completed')
    watch?.onFinished()
  })
}

async function publish(turn: Turn, { chunks, bytes, window = 1, pace }: Plan, onHalf?: () => void): Promise<void> {
  const output = turn.artifact('output')
  const inFlight: Promise<void>[] = []
  for (let number = 1; number < chunks; number++) {
    if (number === chunks - (chunks >> 1) + 1) onHalf?.()
    if (pace) await sleep(pace)
    const chunk = pace ? `${monotonic()}` : chunkOf(number, bytes)
    if (window === 1) await output.write(chunk)
    else {
      inFlight.push(output.write(chunk))
      if (inFlight.length >= window) await inFlight.shift()
    }
  }
  await output.close(chunkOf(chunks, bytes))
}
