import { expect, it } from 'vitest'
import { createAgentEvents } from '../../agent/content.ts'
import type { ArtifactEvent, StatusEvent, StreamEvent } from '../../protocol/events.ts'
import { createRelay } from './relay.ts'

const ids = { taskId: 'theirs', contextId: 'c' }

it('empty texts of another agent are not forwarded, and the end of its artifact is', async () => {
  const emitted: (StatusEvent | ArtifactEvent)[] = []
  const relay = createRelay({ agentEvents: createAgentEvents(ids), isAsking: () => false }, 'all')
  const forward = (parts: ArtifactEvent['artifact']['parts'], flags: Partial<ArtifactEvent>) => {
    const event: StreamEvent = {
      type: 'artifact',
      artifact: { artifactId: 'a', parts },
      ...flags,
      ...ids,
      generation: 1,
    }
    return relay.forward(event, { agent: 'Other', ...ids }, async (forwarded) => void emitted.push(forwarded))
  }
  await forward([{ text: '' }], { append: false })
  await forward([{ text: '' }, { text: 'one' }], { append: false })
  await forward([{ text: '' }], { append: true })
  await forward([{ text: '' }], { append: true, lastChunk: true })
  expect(emitted).toMatchObject([
    { artifact: { parts: [{ text: 'one' }] }, append: false },
    { artifact: { parts: [] }, append: true, lastChunk: true },
  ])
})
