import cluster from 'node:cluster'
import { join } from 'node:path'
import { agent } from '../../src/core/agent/agent.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { serve } from '../../src/serve/serve.ts'

/** Two workers on one port and one file, as docs/guides/scaling.md describes it. Reports the port to the test. */
const [directory = ''] = process.argv.slice(2)
const workers = 2
if (cluster.isPrimary) {
  cluster.on('message', (_, port) => process.send?.(port))
  cluster.on('exit', () => cluster.fork())
  process.on('disconnect', () => process.exit())
  for (let n = 0; n < workers; n++) cluster.fork()
} else {
  const log = createSqliteLog({ file: join(directory, 'tasks.db') })
  const replying = agent({ name: 'Worker' }, (turn) => turn.data({ pid: process.pid }))
  const { port } = await serve(replying, { log, port: 0, auth: 'none' })
  process.send?.(port)
}
