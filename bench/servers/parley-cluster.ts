import cluster from 'node:cluster'
import { join } from 'node:path'
import { createSqliteLog, serve } from 'parley-a2a'
import { control } from './control.ts'
import { createBenchAgent } from './parley-agent.ts'

/** This many processes on one port and one SQLite file in the given directory. */
const [directory = '', workers = '1'] = process.argv.slice(2)
if (cluster.isPrimary) {
  const ports = await Promise.all(Array.from({ length: Number(workers) }, startWorker))
  control(ports[0] ?? 0)
} else {
  const log = createSqliteLog({ file: join(directory, 'bench.db') })
  const { port } = await serve(createBenchAgent(), { log, port: 0, signals: false })
  process.send?.(port)
}

/** Workers that listen on port 0 share the port of the first one. */
function startWorker(): Promise<number> {
  const worker = cluster.fork()
  return new Promise((resolve) => worker.once('message', resolve))
}
