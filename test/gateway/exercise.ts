import { expect } from 'vitest'
import type { Mode } from '../../src/gateway/options.ts'
import { collect, until } from '../support/async.ts'
import { type SdkClient, taskOf } from '../support/sdk/sdk-client.ts'
import { callers } from './callers.ts'
import { startGateway } from './support.ts'
import { upstreams } from './upstreams.ts'

const modes: readonly Mode[] = ['durable', 'pass-through']

/** Every upstream in both modes. */
export const matrix = Object.entries(upstreams).flatMap(([upstream, start]) =>
  modes.map((mode) => ({ upstream, mode, start })),
)

/** Calls the upstream through a gateway by these callers, and returns what went wrong. */
export async function exerciseCallers(
  { upstream, mode, start }: (typeof matrix)[number],
  names: readonly string[],
): Promise<string> {
  const gateway = await startGateway({ agents: { ada: { ...(await start()), mode } } })
  const failures: string[] = []
  for (const caller of names) {
    try {
      const client = await callers[caller]?.(gateway.url)
      if (client) await exercise(client, { isFirst: upstream === 'a 0.1 server' || caller.includes('v0.1') })
    } catch (error) {
      failures.push(`${caller}: ${error instanceof Error ? error.message : error}`)
    }
  }
  return failures.join('\n')
}

/** Every kind of answer. Version 0.1 has no messages without a task. */
async function exercise(client: SdkClient, { isFirst }: { readonly isFirst: boolean }): Promise<void> {
  expect(await client.card()).toMatchObject({ name: expect.stringMatching(/^Ada/), skills: [{ id: 'count' }] })
  if (!isFirst) expect(await client.send('hello')).toEqual({ message: 'hi' })
  const task = taskOf(await client.send('count'))
  expect(task.state).toBe('completed')
  expect(task.artifacts.flat().join('')).toBe('onetwothree')
  expect(await client.get(task.id)).toMatchObject({ id: task.id, state: 'completed', artifacts: task.artifacts })
  const words = (await collect(client.stream('count'))).map((event) => event.words)
  expect(words.join('; ')).toMatch(/one.*two.*three.*completed: Counted/)
  const question = taskOf(await client.send('ask'))
  expect(question).toMatchObject({ state: 'input-required' })
  const answered = taskOf(await client.send('count', { taskId: question.id }))
  expect([answered.id, answered.state]).toEqual([question.id, 'completed'])
  const waiting = taskOf(await client.send('wait', { blocking: false }))
  await client.cancel(waiting.id)
  // Older SDKs answer before the agent has stopped.
  await until(async () => (await client.get(waiting.id)).state === 'canceled')
}
