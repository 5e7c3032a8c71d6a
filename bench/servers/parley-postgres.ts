import { serve } from 'parley-a2a'
import { createPostgresLog } from 'parley-a2a/postgres'
import pg from 'pg'
import { control } from './control.ts'
import { createBenchAgent } from './parley-agent.ts'

/** A replica on the PostgreSQL server with this URL. */
const [connectionString] = process.argv.slice(2)
const log = await createPostgresLog({ pool: new pg.Pool({ connectionString }) })
const { port } = await serve(createBenchAgent(), { log, signals: false })
control(port)
