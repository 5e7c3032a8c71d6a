import { join } from 'node:path'
import { createSqliteLog, type Logger, serve } from 'parley-a2a'
import { control } from './control.ts'
import { createBenchAgent } from './parley-agent.ts'

/** Parley with a SQLite log, and with or without its console. */
const [directory = '.', mode] = process.argv.slice(2)
const log = createSqliteLog({ file: join(directory, 'bench.db') })
const drop = () => {}
const logger: Logger = {
  ...{ debug: drop, info: drop, warn: drop, error: drop },
  isLevelEnabled: (level) => level !== 'debug',
}
const { port } = await serve(createBenchAgent(), {
  ...{ log, logger, signals: false },
  ...(mode === 'off' && { console: false }),
})
control(port)
