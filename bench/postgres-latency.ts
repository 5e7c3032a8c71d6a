import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { sendForTask, subscribeBody } from './calls.ts'
import { interleave, median, type Round } from './measure.ts'
import { readEvents, textsOf } from './read-events.ts'
import type { Answer, Question } from './report.ts'
import { startServer } from './server-process.ts'
import { monotonic, type Plan } from './servers/plan.ts'
import { withPostgres } from './with-postgres.ts'
import { withDirectory } from './work-directory.ts'

const samples = 100
const plan: Plan = { chunks: samples + 1, bytes: 1, pace: 10 }
/** Without pauses, so that what runs often in a real server has run often here. */
const warmUp: Plan = { chunks: 3_000, bytes: 100, window: 4 }

/** How long an event takes from the agent in one replica to a reader of another one. */
export const postgresLatency: Question = {
  name: 'postgres-latency',
  async ask(): Promise<Answer> {
    const durable = await withPostgres(measure)
    const diskless = await withPostgres(measure, { fsync: 'off' })
    const verdict = (what: string, rounds: Rounds) => ({
      what,
      values: rounds.map(({ parley, notify }) => median(parley) / median(notify)),
      unit: 'x' as const,
      target: { atMost: 3 },
    })
    const detail = (what: string, rounds: Rounds) => ({
      what,
      'Parley p50, ms': p50(rounds.map(({ parley }) => parley)),
      'NOTIFY p50, ms': p50(rounds.map(({ notify }) => notify)),
      'sync of the disk p50, ms': p50(rounds.map(({ disk }) => disk)),
    })
    return {
      title: 'From `emit` in replica A to the event at a reader of replica B, over PostgreSQL',
      verdicts: [
        verdict('p50, Parley : bare NOTIFY round trip', durable),
        verdict('the same without the time of the disk (fsync off)', diskless),
      ],
      details: [detail('every event durable', durable), detail('without the time of the disk', diskless)],
      notes: [
        'The event is stored durably by A, read by B, and sent as SSE; the NOTIFY goes to another connection and back and stores nothing, so a disk that is slow to sync counts on one side only.',
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
  const [near, far] = [new pg.Client(url), new pg.Client(url)]
  try {
    for (const client of [near, far]) await client.connect()
    await near.query('LISTEN back')
    await far.query('LISTEN there')
    far.on('notification', () => void far.query('NOTIFY back'))
    await throughReplicas(a.port, b.port, warmUp)
    await roundTrips(near, warmUp)
    return await interleave(9, {
      parley: () => throughReplicas(a.port, b.port),
      notify: () => roundTrips(near),
      disk: syncs,
    })
  } finally {
    for (const client of [near, far]) await client.end()
    for (const server of [a, b]) await server.stop()
  }
}

async function throughReplicas(portOfA: number, portOfB: number, wanted = plan): Promise<readonly number[]> {
  const { id } = await sendForTask(portOfA, JSON.stringify(wanted), { returnImmediately: true })
  const latencies: number[] = []
  let cameAt = 0
  const onBytes = () => {
    cameAt = monotonic()
  }
  for await (const event of readEvents(portOfB, subscribeBody(id), { onBytes })) {
    const written = event.artifactUpdate && Number(textsOf(event)[0])
    if (written) latencies.push(cameAt - written)
  }
  // The first come while it is still being subscribed.
  return latencies.slice(10, samples - 1)
}

async function roundTrips(near: pg.Client, { chunks, pace } = plan): Promise<readonly number[]> {
  const latencies: number[] = []
  for (let sample = 1; sample < chunks; sample++) {
    if (pace) await new Promise((resolve) => setTimeout(resolve, pace))
    const begin = monotonic()
    const back = once(near, 'notification')
    near.once('notification', () => latencies.push(monotonic() - begin))
    void near.query('NOTIFY there')
    await back
  }
  return latencies
}

/** What a commit that must be durable waits for: a page written over, and synced. */
function syncs(): Promise<readonly number[]> {
  return withDirectory(async (directory) => {
    await using file = await open(join(directory, 'pages'), 'w')
    const page = Buffer.alloc(8192)
    const write = (place: number) => file.write(page, 0, page.length, place * page.length)
    for (let place = 0; place < samples; place++) await write(place)
    await file.sync()
    const latencies: number[] = []
    for (let place = 0; place < samples; place++) {
      await new Promise((resolve) => setTimeout(resolve, plan.pace))
      await write(place)
      const begin = monotonic()
      await file.datasync()
      latencies.push(monotonic() - begin)
    }
    return latencies
  })
}
