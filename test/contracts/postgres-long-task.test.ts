import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadFold } from '../../src/core/tasks/fold.ts'
import type { NewTask, TaskLog } from '../../src/core/tasks/log.ts'
import { createPostgresLog, type PostgresPool } from '../../src/entries/postgres.ts'
import { chunk, lease, message, newTask, readAll, status, upTo } from '../../src/testing/stores/task-log/fixtures.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openMigratedPool } from '../support/postgres/pools.ts'

startServerFirst()

const short = 2_000
const long = 20_000

describe('a task of ten times as many events', () => {
  test('the database touches no more rows per event when they are read in pages', async () => {
    const pool = await openMigratedPool()
    const counting = countingPool(pool)
    const read = async (events: number) => {
      const { taskId } = await storeTask(await open(pool), events)
      counting.touched = 0
      expect(await readAll(await open(counting), taskId)).toHaveLength(events)
      return counting.touched / events
    }
    const [few, many] = [await read(short), await read(long)]
    expect(few).toBeGreaterThanOrEqual(1)
    expect(many / few).toBeLessThan(1.5)
  })

  test('a read of the whole task after its end starts at a snapshot', async () => {
    const pool = await openMigratedPool()
    const task = await storeTask(await open(pool), long)
    const log = await open(pool)
    expect((await loadFold(log, task)).task()?.artifacts[0]?.parts).toHaveLength(1)
    expect((await log.snapshot(task.taskId))?.generation).toBe(long)
  })
})

async function open(pool: PostgresPool): Promise<TaskLog> {
  const log = await createPostgresLog({ pool })
  onTestFinished(() => log.close())
  return log
}

/** A message, chunks and the end of the task, as one writer stores them. */
async function storeTask(log: TaskLog, events: number): Promise<NewTask> {
  const task = newTask()
  await log.create(task, [message()], { lease })
  for (let after = 1; after < events - 1; ) {
    const batch = upTo(Math.min(999, events - 1 - after)).map((n) => chunk(`${after + n}`))
    await log.append(task.taskId, after, batch, { fence: 1 })
    after += batch.length
  }
  await log.append(task.taskId, events - 1, [status('completed')], { fence: 1 })
  return task
}

interface CountingPool extends PostgresPool {
  /** Rows of the table of events that the executed statements have touched. */
  touched: number
}

/** Runs each read of events once more, and counts what the database touches for it. */
function countingPool(pool: pg.Pool): CountingPool {
  const query: PostgresPool['query'] = async ({ text, values }) => {
    if (/^\s*SELECT/.test(text) && /\.events\b/.test(text)) {
      const explained = { text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values }
      const { rows } = await pool.query<{ readonly 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(explained)
      counting.touched += touchedBy(rows[0]?.['QUERY PLAN'][0]?.Plan)
    }
    return await pool.query({ text, values })
  }
  const counting: CountingPool = {
    touched: 0,
    query,
    on: pool.on.bind(pool),
    connect: () => Promise.reject(new Error('no connection is held, so that every statement is counted')),
  }
  return counting
}

interface Plan {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly Plans?: readonly Plan[]
}

function touchedBy(plan: Plan | undefined): number {
  if (!plan) return 0
  const own = plan['Relation Name'] === 'events' ? plan['Actual Rows'] * plan['Actual Loops'] : 0
  return (plan.Plans ?? []).reduce((sum, child) => sum + touchedBy(child), own)
}
