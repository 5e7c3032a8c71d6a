import { readStream, sendBody } from './calls.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { withPostgres } from './with-postgres.ts'

const rounds = 7
const connections = 50
const milliseconds = 1_500
const chunks = 4_000

/** Small tasks and a long one in PostgreSQL, compared with servers that only insert and select, or only write events. */
export const postgresSend: Benchmark = {
  name: 'postgres-send',
  run: () => withPostgres(measure),
}

async function measure(url: string): Promise<BenchmarkResult> {
  const parley = await startServer(new URL('./servers/parley-postgres.ts', import.meta.url), url)
  const insert = await startServer(new URL('./servers/bare-postgres.ts', import.meta.url), url)
  const writer = await startServer(new URL('./servers/bare.ts', import.meta.url))
  try {
    for (let n = 0; n < 3; n++) {
      for (const server of [parley, insert]) await sampleSends(server)
      await sampleStream(parley, '/')
      await sampleStream(writer, '/stream')
    }
    const measured = await interleave(rounds, {
      sends: () => sampleSends(parley),
      inserts: () => sampleSends(insert),
      stream: () => sampleStream(parley, '/'),
      events: () => sampleStream(writer, '/stream'),
    })
    const rate = (name: 'sends' | 'inserts' | 'stream' | 'events') =>
      Math.round(median(measured.map((round) => round[name])))
    return {
      title: `PostgreSQL: blocking sends of small tasks over ${connections} connections, and a task of ${chunks} chunks`,
      comparisons: [
        {
          label: 'requests/s, blocking send : bare insert + select of the same rows',
          values: measured.map(({ sends, inserts }) => sends / inserts),
          unit: 'x',
          target: { atLeast: 0.5 },
        },
        {
          label: `events/s, ${chunks} chunks awaited one by one : bare SSE writer`,
          values: measured.map(({ stream, events }) => stream / events),
          unit: 'x',
          target: { atLeast: 0.25 },
        },
      ],
      details: [
        { what: 'Parley, blocking sends', 'per second': rate('sends') },
        { what: 'bare insert + select per request', 'per second': rate('inserts') },
        { what: 'Parley, streamed chunks', 'per second': rate('stream') },
        { what: 'bare SSE writer', 'per second': rate('events') },
      ],
    }
  } finally {
    for (const server of [parley, insert, writer]) await server.stop()
  }
}

async function sampleSends({ port }: ServerProcess): Promise<number> {
  const body = sendBody('Hello', 'SendMessage')
  const { requests, seconds } = await load({ port, body, connections, milliseconds })
  return requests / seconds
}

async function sampleStream({ port }: ServerProcess, path: string): Promise<number> {
  const body = sendBody(JSON.stringify({ chunks, bytes: 100 }), 'SendStreamingMessage')
  const { events, milliseconds, last } = await readStream(port, body, path)
  if (events < chunks) throw new Error(`expected ${chunks} events, got ${events}; the last is ${last}`)
  return (chunks / milliseconds) * 1_000
}
