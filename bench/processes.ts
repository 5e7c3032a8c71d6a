import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { sendBody } from './calls.ts'
import { load } from './load.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { withPostgres } from './with-postgres.ts'
import { withDirectory } from './work-directory.ts'

/**
 * Measures what a send costs with one and with several processes on one PostgreSQL and on one SQLite file, by hand after
 * `npm run build`:
 *
 *     node bench/processes.ts [processes]
 */
const several = Number(process.argv[2] ?? 2)
const connections = 24
const milliseconds = 4_000
const ticksPerSecond = 100

const rows: object[] = []
for (const count of [1, several]) rows.push(await withPostgres((url) => inPostgres(url, count)))
for (const count of [1, several]) rows.push(await withDirectory((directory) => inSqlite(directory, count)))
console.table(rows)

async function inPostgres(url: string, count: number): Promise<object> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const script = new URL('./servers/parley-postgres.ts', import.meta.url)
  const before = await statsOf(pool)
  const measured = await measure(script, url, count, () => databaseSeconds(before.server))
  const after = await statsOf(pool)
  await pool.end()
  return {
    store: 'PostgreSQL',
    processes: count,
    ...measured,
    'commits per task': round((after.commits - before.commits) / (after.tasks || 1)),
    'WAL bytes per task': Math.round((after.wal - before.wal) / (after.tasks || 1)),
  }
}

async function inSqlite(directory: string, count: number): Promise<object> {
  const script = new URL('./servers/parley.ts', import.meta.url)
  return { store: 'SQLite', processes: count, ...(await measure(script, directory, count, () => 0)) }
}

async function measure(script: URL, argument: string, count: number, databaseCpu: () => number) {
  const servers: ServerProcess[] = []
  for (let n = 0; n < count; n++) servers.push(await startServer(script, argument))
  try {
    const body = sendBody('Hello', 'SendMessage')
    const send = (duration: number) =>
      Promise.all(
        servers.map(({ port }) =>
          load({ port, body, connections: Math.ceil(connections / count), milliseconds: duration }),
        ),
      )
    await send(1_000)
    const cpu = async () => {
      let total = 0
      for (const server of servers) total += (await server.read('usage')).cpu
      return total
    }
    const [ownBefore, databaseBefore] = [await cpu(), databaseCpu()]
    const results = await send(milliseconds)
    const requests = results.reduce((sum, result) => sum + result.requests, 0)
    return {
      'sends per second': Math.round((requests / milliseconds) * 1_000),
      'CPU per send here, µs': Math.round(((await cpu()) - ownBefore) / requests),
      'CPU per send in the database, µs': Math.round((1_000_000 * (databaseCpu() - databaseBefore)) / requests),
    }
  } finally {
    for (const server of servers) await server.stop()
  }
}

async function statsOf(pool: pg.Pool) {
  const { rows: found } = await pool.query<{ commits: number; wal: number; pid: number }>(`
    SELECT pg_backend_pid() AS pid, (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS commits,
      (pg_current_wal_lsn() - '0/0')::float8 AS wal`)
  const { rows: counted } = await pool
    .query<{ tasks: number }>('SELECT count(*)::float8 AS tasks FROM parley.tasks')
    .catch(() => ({ rows: [] }))
  const [{ commits = 0, wal = 0, pid = 0 } = {}] = found
  return { commits, wal, tasks: counted[0]?.tasks ?? 0, server: Number(statOf(`${pid}`)[1]) }
}

/** CPU time of the processes of a PostgreSQL server, in seconds. Linux only. */
function databaseSeconds(server: number): number {
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(pid)
    if (Number(fields[1]) === server) ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks / ticksPerSecond
}

/** The fields after the name of a process: its state, its parent, … */
function statOf(pid: string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return [] // the process has ended
  }
}

function round(value: number): number {
  return Number(value.toPrecision(3))
}
