import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent } from '../../src/core/agent/agent.ts'
import type { Turn } from '../../src/core/agent/turn.ts'
import { connect } from '../../src/entries/client.node.ts'
import { serve } from '../../src/serve/serve.ts'
import { collect, until } from '../support/async.ts'
import { silentLogger } from '../support/logger.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { startGateway } from './support.ts'

/** Writes numbered chunks until it is told to stop, and resumes where it was. */
function chunkAgent(chunks: number, pause: () => Promise<void>) {
  return agent({ name: 'Chunks', recovery: 'resume' }, async (turn: Turn) => {
    const out = turn.artifact('chunks')
    for (let n = 0; n < chunks; n++) {
      await turn.step(`chunk ${n}`, pause)
      await out.write(`${n},`)
    }
    await out.close()
    await turn.status('completed', 'Done')
  })
}

const textOf = (task: { readonly artifacts: readonly { readonly parts: readonly object[] }[] } | undefined) =>
  task?.artifacts.flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : ''))).join('')

const expected = Array.from({ length: 20 }, (_, n) => `${n},`).join('')

describe('a durable gateway', () => {
  it('loses and doubles no event when the agent restarts in mid-stream', { timeout: 60_000 }, async () => {
    const directory = await temporaryDirectory()
    const options = { logger: silentLogger, signals: false, directory, drainDeadline: 0, turns: { leaseTtl: 300 } }
    const pace = () => new Promise<void>((resolve) => setTimeout(resolve, 20))
    const first = await serve(chunkAgent(20, pace), options)
    const gateway = await startGateway({ agents: { chunks: first.url } })
    const client = await connect(gateway.url)
    const reading = collect(client.stream('go'))
    await until(
      async () => ((await collect(client.listTasks({ includeArtifacts: true })))[0]?.artifacts.length ?? 0) > 0,
    )
    await first.close()
    const second = await serve(chunkAgent(20, pace), { ...options, port: first.port })
    try {
      const events = await reading
      const texts = events.flatMap((event) =>
        event.type === 'artifact' ? event.artifact.parts.map((part) => ('text' in part ? part.text : '')) : [],
      )
      expect(events.at(-1)).toMatchObject({ type: 'status', status: { state: 'completed' } })
      const [task] = await collect(client.listTasks({ includeArtifacts: true }))
      expect(textOf(task)).toBe(expected)
      expect(texts.join('')).toBe(expected)
    } finally {
      await second.close()
    }
  })

  it('loses and doubles no event when the gateway restarts in mid-stream', { timeout: 60_000 }, async () => {
    const pace = () => new Promise<void>((resolve) => setTimeout(resolve, 30))
    const directory = await temporaryDirectory()
    const upstream = await serve(chunkAgent(20, pace), { logger: silentLogger, signals: false, directory })
    const files = join(directory, 'gateway')
    const options = {
      ...{ agents: { chunks: { url: upstream.url, deduplicates: true } }, directory: files },
      ...{ drainDeadline: 0, turns: { leaseTtl: 300 } },
    }
    try {
      const first = await startGateway(options)
      const before = await connect(first.url)
      const { task } = await before.send('go', { returnImmediately: true })
      const id = task?.id ?? ''
      await until(async () => (await before.task(id).get()).artifacts.length > 0)
      await first.close()
      const second = await startGateway(options)
      const after = await connect(second.url)
      await until(async () => (await after.task(id).get()).status.state === 'completed', 20_000)
      expect(textOf(await after.task(id).get())).toBe(expected)
      expect(await collect(after.listTasks())).toHaveLength(1)
    } finally {
      await upstream.close()
    }
  })

  it('keeps the answer after the agent has forgotten the task', async () => {
    const upstream = await serve(
      agent({ name: 'Short' }, async (turn) => void (await turn.data({ n: 1 }))),
      {
        ...{ logger: silentLogger, signals: false, directory: await temporaryDirectory() },
      },
    )
    const gateway = await startGateway({ agents: { short: upstream.url } })
    const client = await connect(gateway.url)
    const { task } = await client.send('go')
    await upstream.close()
    expect((await client.task(task?.id ?? '').get()).artifacts).toEqual(task?.artifacts)
    await expect(client.send('again', { timeout: 10_000 })).rejects.toMatchObject({ code: 'unavailable' })
  })
})
