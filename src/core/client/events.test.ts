import { expect, it } from 'vitest'
import { collect } from '../../../test/support/async.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { toClientEvents } from './events.ts'

const chunk = (artifactId: string, name?: string): StreamEvent => ({
  type: 'artifact',
  taskId: 't',
  contextId: 'c',
  generation: 0,
  artifact: { artifactId, parts: [{ text: 'x' }], ...(name !== undefined && { name }) },
})

async function namesOf(...events: readonly StreamEvent[]): Promise<readonly (string | undefined)[]> {
  async function* stream() {
    yield* events
  }
  const emitted = await collect(toClientEvents(stream()))
  return emitted.map((event) => (event.type === 'artifact' ? event.artifact.name : undefined))
}

it('every chunk of an artifact has its name', async () => {
  expect(await namesOf(chunk('a', 'report.md'), chunk('a'), chunk('b'), chunk('a'))).toEqual([
    'report.md',
    'report.md',
    undefined,
    'report.md',
  ])
})

it('chunks after a snapshot of the task have the names of its artifacts', async () => {
  const artifacts = [{ artifactId: 'a', name: 'report.md', parts: [] }]
  const task = { id: 't', contextId: 'c', status: { state: 'working' }, artifacts, history: [], generation: 0 } as const
  expect(await namesOf({ type: 'task', task, isLast: false }, chunk('a'))).toEqual([undefined, 'report.md'])
})
