import { sendBody } from './calls.ts'
import { load } from './load.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

const connections = 50
/** Duration of one burst of requests, in milliseconds. */
const burst = 2_000
const megabyte = 2 ** 20

/** Tasks to send, and the memory that the process may take after them. A tenth of the tasks is the warm-up. */
const memory = { tasks: 300_000, limit: 512 }
const sqlite = { tasks: 1_000_000, limit: 512 }

/** The memory of a server while it handles many small tasks: it must not grow with their number. */
export const memoryUse: Benchmark = {
  name: 'memory',
  run: () => withDirectory(measure),
}

async function measure(directory: string): Promise<BenchmarkResult> {
  const script = new URL('./servers/parley.ts', import.meta.url)
  const inMemory = await withServer(await startServer(script), memory.tasks)
  const inSqlite = await withServer(await startServer(script, directory), sqlite.tasks)
  const detail = (log: string, { tasks, early, late }: Growth) => ({
    log,
    tasks,
    'heap after a tenth, MB': toMegabytes(early.heap),
    'heap at the end, MB': toMegabytes(late.heap),
    'RSS at the end, MB': toMegabytes(late.rss),
  })
  const growth = ({ early, late }: Growth) => [late.heap / early.heap]
  return {
    title: 'Memory of the server after many small tasks',
    comparisons: [
      {
        label: `memory log, heap after ${memory.tasks} tasks : after a tenth of them`,
        values: growth(inMemory),
        unit: 'x',
        target: { atMost: 1.2 },
      },
      {
        label: `SQLite log, heap after ${sqlite.tasks} tasks : after a tenth of them`,
        values: growth(inSqlite),
        unit: 'x',
        target: { atMost: 1.2 },
      },
      {
        label: 'memory log, RSS at the end',
        values: [inMemory.late.rss / megabyte],
        unit: 'MB',
        target: { atMost: memory.limit },
      },
      {
        label: 'SQLite log, RSS at the end',
        values: [inSqlite.late.rss / megabyte],
        unit: 'MB',
        target: { atMost: sqlite.limit },
      },
    ],
    details: [detail('memory', inMemory), detail('SQLite', inSqlite)],
  }
}

interface Growth {
  readonly tasks: number
  readonly early: { readonly heap: number; readonly rss: number }
  readonly late: { readonly heap: number; readonly rss: number }
}

async function withServer(server: ServerProcess, tasks: number): Promise<Growth> {
  try {
    let sent = await sendUntil(server, 0, tasks / 10)
    const early = await server.read('usageCollected')
    sent = await sendUntil(server, sent, tasks)
    return { tasks: sent, early, late: await server.read('usageCollected') }
  } finally {
    await server.stop()
  }
}

async function sendUntil({ port }: ServerProcess, sent: number, tasks: number): Promise<number> {
  const body = sendBody('Hello', 'SendMessage')
  let count = sent
  while (count < tasks) count += (await load({ port, body, connections, milliseconds: burst })).requests
  return count
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / megabyte)
}
