import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { sendForTask, subscribeBody } from './calls.ts'
import { interleave, median, type Round } from './measure.ts'
import { readEvents, textsOf } from './read-events.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { startServer } from './server-process.ts'
import { monotonic, type Plan } from './servers/plan.ts'
import { withPostgres } from './with-postgres.ts'
import { withDirectory } from './work-directory.ts'

const samples = 100
const plan: Plan = { chunks: samples + 1, bytes: 1, delay: 10 }
/** Without delays, so that the hot code of a real server is compiled here as well. */
const warmUp: Plan = { chunks: 3_000, bytes: 100, window: 4 }

/** Latency of an event from the agent in one replica to a reader of another replica. */
export const postgresLatency: Benchmark = {
  name: 'postgres-latency',
  async run(): Promise<BenchmarkResult> {
    const durable = await withPostgres(measure)
    const diskless = await withPostgres(measure, { fsync: 'off' })
    const comparison = (label: string, rounds: Rounds) => ({
      label,
      values: rounds.map(({ parley, notify }) => median(parley) / median(notify)),
      unit: 'x' as const,
      target: { atMost: 3 },
    })
    const detail = (setting: string, rounds: Rounds) => ({
      setting,
      'Parley p50, ms': p50(rounds.map(({ parley }) => parley)),
      'NOTIFY p50, ms': p50(rounds.map(({ notify }) => notify)),
      'disk sync p50, ms': p50(rounds.map(({ disk }) => disk)),
    })
    return {
      title: 'From `emit` in replica A to the event at a reader of replica B, over PostgreSQL',
      comparisons: [
        comparison('p50, Parley : bare NOTIFY round trip', durable),
        comparison('the same without disk syncs (fsync off)', diskless),
      ],
      details: [detail('every event durable', durable), detail('without disk syncs', diskless)],
      notes: [
        'A stores the event durably, B reads it and sends it as SSE; the NOTIFY goes to another connection and back and stores nothing, so a slow disk sync affects only one side.',
      ],
    }
  },
}

type Rounds = readonly Round<'parley' | 'notify' | 'disk', readonly number[]>[]

function p50(rounds: readonly (readonly number[])[]): number {
  return Number(median(rounds.map(median)).toPrecision(3))
}

async function measure(url: string): Promise<Rounds> {
  const script = new URL('./servers/parley-postgres.ts', import.meta.url)
  const [a, b] = [await startServer(script, url), await startServer(script, url)]
  const [sender, responder] = [new pg.Client(url), new pg.Client(url)]
  try {
    for (const client of [sender, responder]) await client.connect()
    await sender.query('LISTEN back')
    await responder.query('LISTEN there')
    responder.on('notification', () => void responder.query('NOTIFY back'))
    await throughReplicas(a.port, b.port, warmUp)
    await roundTrips(sender, warmUp)
    return await interleave(9, {
      parley: () => throughReplicas(a.port, b.port),
      notify: () => roundTrips(sender),
      disk: syncPages,
    })
  } finally {
    for (const client of [sender, responder]) await client.end()
    for (const server of [a, b]) await server.stop()
  }
}

async function throughReplicas(portOfA: number, portOfB: number, sent = plan): Promise<readonly number[]> {
  const { id } = await sendForTask(portOfA, JSON.stringify(sent), { returnImmediately: true })
  const latencies: number[] = []
  let receivedAt = 0
  const onBytes = () => {
    receivedAt = monotonic()
  }
  for await (const event of readEvents(portOfB, subscribeBody(id), { onBytes })) {
    const sentAt = event.artifactUpdate && Number(textsOf(event)[0])
    if (sentAt) latencies.push(receivedAt - sentAt)
  }
  // The first events arrive while the subscription is being set up.
  return latencies.slice(10, samples - 1)
}

async function roundTrips(sender: pg.Client, { chunks, delay } = plan): Promise<readonly number[]> {
  const latencies: number[] = []
  for (let sample = 1; sample < chunks; sample++) {
    if (delay) await new Promise((resolve) => setTimeout(resolve, delay))
    const start = monotonic()
    const received = once(sender, 'notification')
    sender.once('notification', () => latencies.push(monotonic() - start))
    void sender.query('NOTIFY there')
    await received
  }
  return latencies
}

/** What a durable commit waits for: overwriting a page, and syncing it. */
function syncPages(): Promise<readonly number[]> {
  return withDirectory(async (directory) => {
    await using file = await open(join(directory, 'pages'), 'w')
    const page = Buffer.alloc(8192)
    const write = (index: number) => file.write(page, 0, page.length, index * page.length)
    for (let index = 0; index < samples; index++) await write(index)
    await file.sync()
    const latencies: number[] = []
    for (let index = 0; index < samples; index++) {
      await new Promise((resolve) => setTimeout(resolve, plan.delay))
      await write(index)
      const start = monotonic()
      await file.datasync()
      latencies.push(monotonic() - start)
    }
    return latencies
  })
}
