import type { ArtifactEvent, MessageEvent, TaskLog } from 'parley-a2a'
import { createPostgresLog } from 'parley-a2a/postgres'
import pg from 'pg'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { withPostgres } from './with-postgres.ts'

const tasks = 50
const chunks = 100
const text = 'x'.repeat(100)
const chunk: ArtifactEvent = { type: 'artifact', artifact: { artifactId: 'a', parts: [{ text }] }, append: true }

/** Rate at which concurrent streaming tasks are stored, compared with plain inserts of the same rows. */
export const postgresAppend: Benchmark = {
  name: 'postgres-append',
  run: () => withPostgres(measure),
}

async function measure(url: string): Promise<BenchmarkResult> {
  const pool = new pg.Pool({ connectionString: url })
  const log = await createPostgresLog({ pool })
  await pool.query(`
    CREATE TABLE bare (task bigint NOT NULL, generation int NOT NULL, event text NOT NULL, fence int, token bigint NOT NULL,
      PRIMARY KEY (task, generation))`)
  try {
    await appendAll(log)
    await insertAll(pool)
    const measured = await interleave(9, { parley: () => appendAll(log), bare: () => insertAll(pool) })
    const rate = (name: 'parley' | 'bare') => Math.round(median(measured.map((round) => round[name])))
    return {
      title: `${tasks} tasks that stream chunks of ${text.length} bytes concurrently into PostgreSQL`,
      comparisons: [
        {
          label: 'events/s, Parley : bare batched insert of the same rows',
          values: measured.map(({ parley, bare }) => parley / bare),
          unit: 'x',
          target: { atLeast: 0.5 },
        },
      ],
      details: [
        { what: 'Parley, every chunk awaited', 'events/s': rate('parley') },
        { what: `bare insert, ${tasks} rows per statement`, 'events/s': rate('bare') },
      ],
    }
  } finally {
    await log.close()
    await pool.end()
  }
}

async function appendAll(log: TaskLog): Promise<number> {
  const taskIds = await Promise.all(Array.from({ length: tasks }, () => createTask(log)))
  return await rateOf(() => Promise.all(taskIds.map((taskId) => stream(log, taskId))))
}

async function createTask(log: TaskLog): Promise<string> {
  const taskId = crypto.randomUUID()
  const message: MessageEvent = {
    type: 'message',
    message: { messageId: 'm', role: 'user', parts: [{ text }] },
    principal: { id: 'bench' },
  }
  await log.create({ taskId, contextId: 'c', owner: 'o' }, [message], { lease: { holder: 'bench', ttl: 600_000 } })
  return taskId
}

async function stream(log: TaskLog, taskId: string): Promise<void> {
  for (let after = 1; after <= chunks; after++) {
    const { type } = await log.append(taskId, after, [chunk], { fence: 1 })
    if (type !== 'stored') throw new Error(`unexpected: ${type}`)
  }
}

let lastTask = 0

async function insertAll(pool: pg.Pool): Promise<number> {
  const keys = Array.from({ length: tasks }, () => ++lastTask)
  const event = JSON.stringify(chunk)
  const insert = {
    name: 'bare',
    text: 'INSERT INTO bare SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::bigint[])',
  }
  return await rateOf(async () => {
    for (let generation = 1; generation <= chunks; generation++) {
      const column = <T>(value: T) => keys.map(() => value)
      await pool.query({ ...insert, values: [keys, column(generation), column(event), column(1), column(generation)] })
    }
  })
}

async function rateOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (tasks * chunks * 1_000) / (performance.now() - start)
}
