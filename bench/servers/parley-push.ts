import { join } from 'node:path'
import { createSqliteLog, serve } from 'parley-a2a'
import { control } from './control.ts'
import { createBenchAgent } from './parley-agent.ts'

/** Parley with a SQLite log, sending to webhooks on this machine. */
const [directory = '.'] = process.argv.slice(2)
const log = createSqliteLog({ file: join(directory, 'bench.db') })
const { port } = await serve(createBenchAgent(), { log, signals: false, push: { allow: ['127.0.0.0/8'] } })
control(port)
