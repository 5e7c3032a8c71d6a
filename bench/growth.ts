import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { anonymous } from '../src/core/protocol/model.ts'
import type { ListCursor, TaskLog } from '../src/core/tasks/log.ts'
import type { OperatorLog } from '../src/core/tasks/operator-log.ts'
import { createPostgresLog } from '../src/entries/postgres.ts'
import { createSqliteLog } from '../src/entries/sqlite.ts'
import { median } from './measure.ts'
import { withPostgres } from './with-postgres.ts'
import { withDirectory } from './work-directory.ts'

/**
 * Measures what operations cost in a log with few and with many ended tasks, by hand:
 *
 *     node bench/growth.ts [sqlite|postgres] [small] [large]
 *
 * The tasks are copies of one that the log has stored, made by SQL.
 */
const [engine = 'postgres', small = '10000', large = '1000000'] = process.argv.slice(2)
const owners = 100
/** An operation is repeated for so long at most, and five times at least. */
const maxMilliseconds = 4_000
const lease = { holder: 'bench', ttl: 60_000 }
/** The tasks of the copies ended at this time, one millisecond apart. */
const epoch = Date.UTC(2026, 0, 1)

type Log = TaskLog & { readonly operator?: OperatorLog }

/** A loaded log. */
interface Storage {
  readonly open: () => Promise<Log>
  /** Gives back what it uses. */
  readonly close?: () => Promise<void>
}

await (engine === 'sqlite'
  ? withDirectory((directory) => measure((size) => inSqlite(join(directory, `${size}.db`), size)))
  : withPostgres((url) => measure((size) => inPostgres(url, size))))

/** Measures both sizes in turns, so that what else the machine does affects both. */
async function measure(load: (size: number) => Promise<Storage>): Promise<void> {
  const storages: Storage[] = []
  for (const size of [small, large]) storages.push(await load(Number(size)))
  const starts = storages.map(
    ({ open }) =>
      async () =>
        await (await open()).close(),
  )
  const logs = await Promise.all(storages.map(({ open }) => open()))
  const work = await Promise.all(logs.map(operationsOf))
  const operations = [
    ['start-up', 9, starts] as const,
    ...Object.keys(work[0] ?? {}).map((name) => [name, 40, work.map((all) => all[name] ?? (async () => {}))] as const),
  ]
  const rows: object[] = []
  for (const [what, runs, works] of operations) {
    const [few = 0, many = 0] = await timed(runs, works).catch(() => []) // longer than a statement may take
    console.log(`${what}: ${round(few)} and ${round(many)} ms`)
    rows.push({
      what,
      [`${small} tasks, ms`]: round(few),
      [`${large} tasks, ms`]: round(many),
      ratio: round(many / few),
    })
  }
  console.table(rows)
  for (const [index, log] of logs.entries()) {
    const { alone, during } = await sendsDuringRetention(log)
    console.log(
      `${[small, large][index]} tasks, p99 of sends: ${round(alone)} ms alone, ${round(during)} ms during retention`,
    )
    await log.close()
    await storages[index]?.close?.()
  }
}

async function inSqlite(file: string, size: number): Promise<Storage> {
  const open = async () => createSqliteLog({ file })
  await storeFirst(open)
  const begun = performance.now()
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000')
  const columns = (db.prepare('PRAGMA table_info(tasks)').all() as { name: string }[]).map(({ name }) => name)
  const numbers = `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${size})`
  const copied = copiesOf(columns, {
    task_id: `printf('%012x-%032x', ${epoch} + n, n)`,
    context_id: `'context ' || (n / 10)`,
    owner: `'user ' || (n % ${owners})`,
    changed: `${epoch} + n`,
    created: `${epoch} + n`,
    status_row: '(SELECT max(id) FROM events) + n',
  })
  db.exec(`BEGIN;
    CREATE TEMP TABLE template AS SELECT * FROM tasks;
    CREATE TEMP TABLE events_template AS SELECT * FROM events;
    ${numbers} INSERT INTO tasks (${copied.names}) SELECT ${copied.values} FROM number, template;
    INSERT INTO events (task, generation, events, at) SELECT tasks.key, e.generation, e.events, e.at
    FROM tasks, events_template AS e WHERE tasks.key > (SELECT key FROM template) ORDER BY tasks.key;
    UPDATE tasks SET status_row = (SELECT max(id) FROM events WHERE events.task = tasks.key);
    DELETE FROM task_counts;
    INSERT INTO task_counts SELECT owner, phase, count(*) FROM tasks WHERE status_row IS NOT NULL GROUP BY 1, 2;
    COMMIT`)
  db.close()
  console.log(`${size} tasks loaded in ${seconds(begun)} s, ${Math.round(statSync(file).size / 2 ** 20)} MiB`)
  return { open }
}

async function inPostgres(url: string, size: number): Promise<Storage> {
  const pool = new pg.Pool({ connectionString: url })
  const schema = `s${size}`
  const open = () => createPostgresLog({ pool, schema })
  await storeFirst(open)
  const begun = performance.now()
  const { rows: found } = await pool.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = '${schema}' AND table_name = 'tasks'`,
  )
  const copied = copiesOf(
    found.map(({ name }) => name),
    {
      task_id: `lpad(to_hex(${epoch} + n), 12, '0') || '-' || md5(n::text)`,
      context_id: `'context ' || (n / 10)`,
      owner: `'user ' || (n % ${owners})`,
      changed: `${epoch} + n`,
      created: `${epoch} + n`,
    },
  )
  await pool.query(`ALTER TABLE ${schema}.tasks DISABLE TRIGGER USER`)
  await pool.query(`
      INSERT INTO ${schema}.tasks (${copied.names}) SELECT ${copied.values}
      FROM generate_series(1, ${size}) AS n, (SELECT * FROM ${schema}.tasks LIMIT 1) AS template`)
  await pool.query(`
      INSERT INTO ${schema}.events (task, generation, event, fence, token, at)
      SELECT task.key, e.generation, e.event, e.fence, e.token, e.at
      FROM ${schema}.tasks AS task, ${schema}.events AS e
      WHERE e.task = (SELECT min(key) FROM ${schema}.tasks) AND task.key > e.task ORDER BY task.key, e.generation`)
  await pool.query(`
      DELETE FROM ${schema}.task_counts; INSERT INTO ${schema}.task_counts (owner, phase, total)
      SELECT owner, phase, count(*) FROM ${schema}.tasks WHERE status_generation IS NOT NULL GROUP BY 1, 2`)
  await pool.query(`ALTER TABLE ${schema}.tasks ENABLE TRIGGER USER`)
  await pool.query('VACUUM ANALYZE')
  const {
    rows: [total],
  } = await pool.query<{ size: string }>('SELECT pg_size_pretty(pg_database_size(current_database())) AS size')
  console.log(`${size} tasks loaded in ${seconds(begun)} s, ${total?.size}`)
  return { open, close: () => pool.end() }
}

/** Operations that can be repeated, by name. */
async function operationsOf(log: Log): Promise<Readonly<Record<string, () => Promise<unknown>>>> {
  const { operator } = log
  const owner = 'user 7'
  const deep = await deepCursor(log, owner)
  let last = await store(log)
  let [context, erasedOwner, expired, forgotten] = [900, 50, 0, 0]
  return {
    send: async () => {
      last = await store(log)
    },
    get: async () => {
      await log.head(last, { owner: 'sender' })
      await log.read(last, 0)
    },
    'list, first page': () => log.list({ owner, limit: 50 }),
    'list, deep page': () => log.list({ owner, limit: 50, cursor: deep }),
    'list by policy, 3 owners': () => log.list({ owner, also: { owners: ['user 8', 'user 9'] }, limit: 50 }),
    'list of everyone': () => log.list({ owner, also: 'everyone', limit: 50 }),
    'list of a context': () => log.list({ owner, contextId: 'context 70', limit: 50 }),
    count: () => log.list({ owner, limit: 1 }),
    'orphan search': () => log.orphans(100, 60_000),
    'erase of a context, 10 tasks': () => log.erase({ contextId: `context ${context--}` }, 100),
    'erase of an owner, 10 of its tasks': () => log.erase({ owner: `user ${erasedOwner++}` }, 10),
    'retention, 20 tasks': () => log.expire(epoch + 40 * ++expired, 20),
    'retention, 20 tombstones': () => log.forget(epoch + 30 * ++forgotten, 20),
    ...(operator && {
      'console, first page': () => operator.tasks({ limit: 50 }),
      'console, search': () => operator.tasks({ limit: 50, search: 'weather in Lisbon' }),
      'console, context': () => operator.tasks({ limit: 50, contextId: 'context 70' }),
      'console, counts': () => operator.counts(),
    }),
  }
}

/** The cursor of a page in the middle of an owner's tasks. */
async function deepCursor(log: Log, owner: string): Promise<ListCursor> {
  const { total, heads } = await log.list({ owner, limit: 1 })
  const [newest] = heads
  if (!newest) throw new Error('the owner has no tasks')
  return { changed: newest.changed - Math.floor((total / 2) * owners), key: Number.MAX_SAFE_INTEGER }
}

/** The 99th percentile of sends, alone and while old tasks are removed in batches of 100, one after the other. */
async function sendsDuringRetention(log: Log): Promise<{ readonly alone: number; readonly during: number }> {
  const alone = await p99(log)
  let isDone = false
  const removing = (async () => {
    for (let before = epoch + 3_000; !isDone; before += 100) await log.expire(before, 100)
  })()
  const during = await p99(log)
  isDone = true
  await removing
  return { alone, during }
}

async function p99(log: Log): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < 500; n++) {
    const begun = performance.now()
    await store(log)
    times.push(performance.now() - begun)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
}

/** Stores a short turn as `serve` does: all of it in one write. */
async function store(log: Log): Promise<string> {
  const taskId = `${Date.now().toString(16).padStart(12, '0')}-${crypto.randomUUID().replaceAll('-', '')}`
  const timestamp = new Date().toISOString()
  const reply = { messageId: 'r', role: 'agent', parts: [{ text: 'It is sunny.' }] } as const
  await log.create(
    { taskId, contextId: `context of ${taskId}`, owner: 'sender' },
    [
      {
        type: 'message',
        message: { messageId: 'm', role: 'user', parts: [{ text: 'How is the weather in Oslo?' }] },
        principal: anonymous,
      },
      { type: 'status', status: { state: 'working', timestamp } },
      { type: 'status', status: { state: 'completed', timestamp, message: reply } },
    ],
    { lease },
  )
  return taskId
}

/** The medians of the milliseconds that each of the works takes, run in turns, after two runs as a warm-up. */
async function timed(runs: number, works: readonly (() => Promise<unknown>)[]): Promise<readonly number[]> {
  const times = works.map((): number[] => [])
  const end = performance.now() + maxMilliseconds
  for (let n = 0; n < runs && (n < 5 || performance.now() < end); n++) {
    for (const [index, work] of works.entries()) {
      const begun = performance.now()
      await work()
      if (n > 1) times[index]?.push(performance.now() - begun)
    }
  }
  return times.map(median)
}

/** Stores the task that the others are copies of. */
async function storeFirst(open: () => Promise<Log>): Promise<void> {
  const log = await open()
  await store(log)
  await log.close()
}

/** The columns of copies of a row: each has the given value, or that of the template. The database numbers the keys. */
function copiesOf(columns: readonly string[], values: Readonly<Record<string, string>>) {
  const names = columns.filter((name) => name !== 'key')
  return { names: names.join(', '), values: names.map((name) => values[name] ?? `template.${name}`).join(', ') }
}

function seconds(since: number): number {
  return Math.round((performance.now() - since) / 1_000)
}

function round(value: number): number {
  return Number(value.toPrecision(3))
}
