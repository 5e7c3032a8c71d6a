import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { callOf, messageOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'

/** Writes artifacts in the ways that end without content. */
async function writing(turn: Turn): Promise<void> {
  const first = turn.artifact('first')
  for (const word of ['one', '', 'two']) await first.write(word)
  await first.close()
  const second = turn.artifact('second')
  await second.write('three')
  await second.close('')
  await turn.artifact('nothing').close()
  await turn.artifact('little').write('')
}

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  // ProtoJSON leaves out false.
  const isProto = dialect === 'v1.0' || dialect === 'v0.3-proto'

  it('an artifact that is closed without content sends no empty part, and its last chunk says that it is the last', async () => {
    const { server } = await startTestServer(writing, { grpc: true })
    const service = await openService(server.url, dialect, binding)
    const events = await collect(service.streamMessage({ message: messageOf('go') }, callOf()))
    const updates = events.flatMap((event) => (event.type === 'artifact' ? [event] : []))
    expect(updates.map(({ artifact, append, lastChunk }) => [artifact.parts, append, lastChunk])).toEqual([
      [[{ text: 'one' }], isProto ? undefined : false, isProto ? undefined : false],
      [[{ text: 'two' }], true, true],
      [[{ text: 'three' }], isProto ? undefined : false, true],
    ])
    const [taskId] = events.flatMap((event) => ('taskId' in event ? [event.taskId] : []))
    const { artifacts } = await service.getTask({ taskId: taskId ?? '' }, callOf())
    expect(artifacts.map(({ parts }) => parts)).toEqual([[{ text: 'one' }, { text: 'two' }], [{ text: 'three' }]])
  })
})

it('a chunk is sent without the end of its artifact, and an artifact that ends later sends no empty event', async () => {
  const read = Promise.withResolvers<void>()
  const { wire } = await startTestServer(async (turn) => {
    const artifact = turn.artifact('words')
    await artifact.write('one')
    await read.promise
    await artifact.close()
  })
  const updates = []
  for await (const { result } of wire.sendStream('go')) {
    if (result?.artifactUpdate) updates.push(result.artifactUpdate)
    if (result?.artifactUpdate) read.resolve()
  }
  expect(updates).toMatchObject([{ artifact: { parts: [{ text: 'one' }] } }])
  expect(updates[0]?.lastChunk).toBeUndefined()
})
