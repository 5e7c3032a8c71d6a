import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import type { Notice } from '../../src/core/client/options.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { describeEvent, generationOf } from '../contracts/service/contract.ts'
import { chunks, count, numbers } from '../support/agents/counting-agent.ts'
import { collect } from '../support/async.ts'
import { startServerProcess } from '../support/processes/server-process.ts'
import { createRandom } from '../support/random.ts'
import { listenOnFreePort } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const quick = { minDelay: 5, maxDelay: 50 }

function chunksIn(events: readonly StreamEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === 'artifact'
      ? event.artifact.parts.flatMap((part) => ('text' in part && part.text ? [part.text] : []))
      : [],
  )
}

describe('a killed server', () => {
  it('a client of a restarted server sees every event once, in order, up to the failure', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { turns: { leaseTtl: 1_000 } })
    const port = Number(new URL(first.url).port)
    const client = await connect(first.url, { resume: { ...quick, tries: 500 } })
    const seen: StreamEvent[] = []
    let restarted: Promise<unknown> | undefined
    for await (const event of client.stream('count')) {
      seen.push(event)
      if (seen.length !== 20) continue
      first.signal('SIGKILL')
      restarted = first.ended.then(() => startServerProcess(directory, { port, turns: { leaseTtl: 1_000 } }))
    }
    await restarted
    expect(seen.map(generationOf)).toEqual(seen.map((_, index) => index + 2))
    const texts = chunksIn(seen)
    expect(texts).toEqual(texts.map((_, index) => `${index + 1}`))
    expect(describeEvent(seen.at(-1) as StreamEvent)).toContain(
      'status failed: The process that worked on this task stopped',
    )
  })
})

/** A proxy whose connections break after the given numbers of bytes. */
async function breakingProxy(port: number, limits: readonly number[]): Promise<string> {
  const left = [...limits]
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connectTcp(port, '127.0.0.1')
    let bytes = left.shift() ?? Number.POSITIVE_INFINITY
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    near.on('data', (chunk) => far.write(chunk))
    far.on('data', (chunk) => {
      near.write(chunk.subarray(0, bytes))
      bytes -= chunk.length
      if (bytes <= 0) near.end(() => near.resetAndDestroy())
    })
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${await listenOnFreePort(server)}`
}

describe('a breaking proxy', () => {
  it('a client behind a proxy that breaks connections sees every event once, in order', async () => {
    const random = createRandom(4)
    const { server } = await startTestServer(count)
    const notices: Notice[] = []
    for (let round = 0; round < 25; round++) {
      const limits = Array.from({ length: 4 }, () => 400 + random.below(8_000))
      const client = await connect(await breakingProxy(server.port, limits), {
        retry: { ...quick, tries: 5 },
        resume: quick,
        // A send without a response may be repeated.
        peerDeduplicates: true,
        onNotice: (notice) => notices.push(notice),
      })
      const events = await collect(client.stream('go'))
      expect(chunksIn(events)).toEqual(numbers)
      expect(events).toHaveLength(chunks + 3)
    }
    expect(notices.filter(({ type }) => type === 'resumed').length).toBeGreaterThan(10)
    expect(notices.filter(({ type }) => type === 'best-effort')).toEqual([])
  })
})
