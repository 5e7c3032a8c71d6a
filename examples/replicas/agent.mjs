import { agent, serve } from 'parley-a2a'
import { apiKey } from 'parley-a2a/auth'
import { createPostgresLog } from 'parley-a2a/postgres'
import pg from 'pg'

/** One replica. Start as many as you like on one DATABASE_URL; any of them serves any task. */
const { DATABASE_URL, API_KEY_HASH, PUBLIC_URL, HOST, PORT } = process.env
if (!DATABASE_URL)
  throw new Error('Set DATABASE_URL to the database for the tasks: postgres://user:password@host/database')

const counter = agent(
  { name: 'Counter', description: 'Counts slowly to the number you send.', recovery: 'retry' },
  async (turn) => {
    const last = Math.min(Number(turn.text) || 10, 1_000)
    const numbers = turn.artifact('numbers')
    for (let number = 1; number <= last; number++) {
      await numbers.write(`${number} `)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await numbers.close()
  },
)

const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  max: 10,
  connectionTimeoutMillis: 5_000,
  // After SIGTERM the process exits when the last turn has ended or another replica has taken it over.
  allowExitOnIdle: true,
})
// One schema per agent: the replica that recovers an abandoned task must run the same agent.
const log = await createPostgresLog({ pool, schema: 'counter' })

const server = await serve(counter, {
  host: HOST || '127.0.0.1',
  port: Number(PORT || 4000),
  log,
  auth: API_KEY_HASH ? { schemes: { key: apiKey({ keys: [{ id: 'caller', hash: API_KEY_HASH }] }) } } : 'none',
  ...(PUBLIC_URL && { publicUrl: PUBLIC_URL }),
  // Shorter than the usual request timeout of load balancers.
  turns: { blockFor: 50_000 },
})
console.log(server.url)
