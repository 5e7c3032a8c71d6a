import { describe, expect, it } from 'vitest'
import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { connect } from '../../../src/core/client/connect.ts'
import type { StreamEvent } from '../../../src/core/protocol/events.ts'
import { callOf, messageOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { shareTestServer, startTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 300))

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

/** Agents that know only after a pause that they have written their last chunk, by the text of the message. */
const laterEnds: Readonly<Record<string, AgentFunction>> = {
  async closed(turn) {
    const artifact = turn.artifact('words')
    for (const word of ['un', 'believ', 'able']) await artifact.write(word)
    await pause()
    await artifact.close()
  },
  async unclosed(turn) {
    for (const word of ['un', 'believ', 'able']) await turn.answer.write(word)
    await pause()
  },
  async paused(turn) {
    for (const word of ['un', 'believ', 'able']) await turn.answer.write(word)
    await pause()
    await turn.requireInput('More?')
  },
  async *generator() {
    yield* ['un', 'believ', 'able']
    await pause()
  },
  observable: () => ({
    subscribe(observer: { next(value: string): void; complete?(): void }) {
      for (const word of ['un', 'believ', 'able']) observer.next(word)
      const timer = setTimeout(() => observer.complete?.(), 300)
      return { unsubscribe: () => clearTimeout(timer) }
    },
  }),
}

const get = shareTestServer((turn) => (laterEnds[turn.text] ?? writing)(turn), { grpc: true })

const chunksIn = (events: readonly StreamEvent[]) =>
  events.flatMap((event) => (event.type === 'artifact' ? [event] : []))

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  it('the last chunk of an artifact that is closed without content says that it is the last', async () => {
    const service = await openService(get().server.url, dialect, binding)
    const events = await collect(service.streamMessage({ message: messageOf('go') }, callOf()))
    const names = new Map(chunksIn(events).map(({ artifact }) => [artifact.artifactId, artifact.name]))
    expect(names.size).toBe(2)
    for (const id of names.keys()) {
      const chunks = chunksIn(events).filter(({ artifact }) => artifact.artifactId === id)
      expect(chunks.map(({ lastChunk }) => lastChunk === true)).toEqual(chunks.map((_, at) => at === chunks.length - 1))
    }
    const [taskId] = events.flatMap((event) => ('taskId' in event ? [event.taskId] : []))
    const { artifacts } = await service.getTask({ taskId: taskId ?? '' }, callOf())
    expect(artifacts.map(({ parts }) => parts)).toEqual([[{ text: 'onetwo' }], [{ text: 'three' }]])
  })

  // House streams stay open while the task waits.
  const ends = Object.keys(laterEnds).filter((name) => !(name === 'paused' && dialect === 'v0.3-house'))

  it.each(ends)('an agent that ends later closes its artifact by an empty text: %s', async (text) => {
    const service = await openService(get().server.url, dialect, binding)
    const events = await collect(service.streamMessage({ message: messageOf(text) }, callOf()))
    const chunks = chunksIn(events)
    expect(chunks.flatMap(({ artifact }) => artifact.parts)).toMatchObject([
      { text: 'un' },
      { text: 'believ' },
      { text: 'able' },
      { text: '' },
    ])
    expect(chunks.map(({ append }) => append === true)).toEqual([false, true, true, true])
    expect(chunks.map(({ lastChunk }) => lastChunk === true)).toEqual([false, false, false, true])
    const [taskId] = events.flatMap((event) => ('taskId' in event ? [event.taskId] : []))
    const { artifacts } = await service.getTask({ taskId: taskId ?? '' }, callOf())
    expect(artifacts.map(({ parts }) => parts)).toEqual([[{ text: 'unbelievable' }]])
  })
})

it('the parts of one write stay apart, and so do texts of other types, with names or with metadata', async () => {
  const { wire } = await startTestServer(async (turn) => {
    const artifact = turn.artifact('words')
    await artifact.write(['one', 'two'])
    await artifact.write('three')
    await artifact.write({ text: '# four', mediaType: 'text/markdown' })
    await artifact.write({ text: 'five', mediaType: 'text/markdown', metadata: { language: 'en' } })
    await artifact.write({ text: 'six', mediaType: 'text/markdown' })
    await artifact.write({ text: 'seven', mediaType: 'text/markdown', filename: 'seven.md' })
    await artifact.close()
  })
  const { artifacts } = await wire.sendTask('go')
  const texts = artifacts?.[0]?.parts.map(({ text }: { text?: string }) => text)
  expect(texts).toEqual(['one', 'twothree', '# four', 'five', 'six', 'seven'])
})

it('Google ADK, which keeps only the last chunk, gets the whole artifact in it', async () => {
  const message = (text: string) => ({
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text, metadata: { is_user_input: true } }],
  })
  const events = await collect(get().wire.stream('SendStreamingMessage', { message: message('closed') }))
  const updates = events.flatMap(({ result }) => result?.artifactUpdate ?? [])
  expect(updates.at(-1)).toMatchObject({
    artifact: { name: 'words', parts: [{ text: 'unbelievable' }] },
    lastChunk: true,
  })
  expect(updates.at(-1)).not.toHaveProperty('append')
})

it('a relayed artifact has the flags of its chunks, and no empty text', async () => {
  const child = await startTestServer(laterEnds.closed as AgentFunction, { profile: { name: 'Child' } })
  const client = await connect(child.server.url)
  const { wire } = await startTestServer(async (turn) => {
    await turn.call(client, 'go', { relay: 'all' })
  })
  const updates = (await collect(wire.sendStream('go'))).flatMap(({ result }) => result?.artifactUpdate ?? [])
  expect(updates.at(-1)).toMatchObject({ append: true, lastChunk: true })
  expect(updates.map(({ artifact }) => artifact.parts[0]?.text).join('')).toBe('unbelievable')
  expect((await wire.sendTask('go')).artifacts).toMatchObject([{ parts: [{ text: 'unbelievable' }] }])
})
