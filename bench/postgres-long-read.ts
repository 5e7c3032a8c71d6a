import pg from 'pg'
import { sendForTask } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { startServer } from './server-process.ts'
import type { Plan } from './servers/plan.ts'
import { withPostgres } from './with-postgres.ts'

const short = 8_000
const long = 80_000

/** The first read of a long task in PostgreSQL, compared with that of a task with a tenth of its events. */
export const postgresLongRead: Benchmark = {
  name: 'postgres-long-read',
  run: () => withPostgres(measure),
}

async function measure(url: string): Promise<BenchmarkResult> {
  const server = await startServer(new URL('./servers/parley-postgres.ts', import.meta.url), url)
  const pool = new pg.Pool({ connectionString: url })
  try {
    const create = async (chunks: number): Promise<StoredTask> => {
      const plan: Plan = { chunks, bytes: 100, window: 64 }
      const { id, contextId } = await sendForTask(server.port, JSON.stringify(plan))
      return { id, contextId, chunks }
    }
    const tasks = { short: await create(short), long: await create(long) }
    const get = ({ id, chunks }: StoredTask) => timePerEvent(server.port, 'GetTask', { id }, chunks)
    const list = ({ contextId, chunks }: StoredTask) =>
      timePerEvent(server.port, 'ListTasks', { contextId, includeArtifacts: true }, chunks)
    /** Without snapshots, every event is read. */
    const afresh = async (work: () => Promise<number>) => {
      await pool.query('DELETE FROM parley.snapshots')
      return await work()
    }
    const measured = await interleave(5, {
      shortGet: () => afresh(() => get(tasks.short)),
      longGet: () => afresh(() => get(tasks.long)),
      shortList: () => afresh(() => list(tasks.short)),
      longList: () => afresh(() => list(tasks.long)),
    })
    const kept = await interleave(5, { longGet: () => get(tasks.long), longList: () => list(tasks.long) })
    const label = `time per event, ${long.toLocaleString('en')} : ${short.toLocaleString('en')} events`
    const microseconds = (values: readonly number[]) => Number((median(values) * 1_000).toPrecision(3))
    return {
      title: `Reading a task of ${long.toLocaleString('en')} chunks of 100 bytes from PostgreSQL`,
      comparisons: [
        {
          label: `${label}, GetTask without a snapshot`,
          values: measured.map(({ shortGet, longGet }) => longGet / shortGet),
          unit: 'x',
          target: { atMost: 1.5 },
        },
        {
          label: `${label}, ListTasks with artifacts without a snapshot`,
          values: measured.map(({ shortList, longList }) => longList / shortList),
          unit: 'x',
          target: { atMost: 1.5 },
        },
        {
          label: 'time, GetTask with : without a snapshot',
          values: kept.map(({ longGet }, round) => longGet / (measured[round]?.longGet ?? Number.NaN)),
          unit: 'x',
          target: { atMost: 0.8 },
        },
      ],
      details: [
        { read: `${short} events`, 'µs/event': microseconds(measured.map(({ shortGet }) => shortGet)) },
        { read: `${long} events`, 'µs/event': microseconds(measured.map(({ longGet }) => longGet)) },
        { read: `${long} events, from a snapshot`, 'µs/event': microseconds(kept.map(({ longGet }) => longGet)) },
      ],
    }
  } finally {
    await pool.end()
    await server.stop()
  }
}

interface StoredTask {
  readonly id: string
  readonly contextId: string
  readonly chunks: number
}

/** Milliseconds per event. */
async function timePerEvent(port: number, method: string, params: object, events: number): Promise<number> {
  const start = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await response.text()
  const milliseconds = performance.now() - start
  if (text.length < events * 100) throw new Error(`expected ${events} chunks, got ${text.slice(0, 500)}`)
  return milliseconds / events
}
