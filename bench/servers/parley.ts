import { join } from 'node:path'
import { createMemoryLog, createSqliteLog, serve } from 'parley-a2a'
import { control } from './control.ts'
import { createBenchAgent } from './parley-agent.ts'

/** Parley with the memory log, or with a SQLite log in the given directory. */
const [directory] = process.argv.slice(2)
const log = directory ? createSqliteLog({ file: join(directory, 'bench.db') }) : createMemoryLog()
const { port } = await serve(createBenchAgent(), { log, signals: false })
control(port)
