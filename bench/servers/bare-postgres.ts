import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { sampleResponse } from '../sample-responses.ts'
import { control } from './control.ts'

/** Inserts the rows of a small task and reads its events back, once per request, without any protocol work. */
const [connectionString] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString, max: 10 })
await pool.query(`
  CREATE TABLE IF NOT EXISTS bare_tasks (key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task_id text NOT NULL UNIQUE,
    context_id text NOT NULL, owner text NOT NULL, generation int NOT NULL, phase text NOT NULL, changed bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS bare_events (task bigint NOT NULL, generation int NOT NULL, event text NOT NULL,
    PRIMARY KEY (task, generation))`)

const insert = {
  name: 'insert',
  text: `
    WITH task AS (
      INSERT INTO bare_tasks (task_id, context_id, owner, generation, phase, changed)
      VALUES ($1, $2, 'bench', 5, 'completed', $3) RETURNING key
    )
    INSERT INTO bare_events (task, generation, event)
    SELECT task.key, event.at, event.event FROM task, unnest($4::text[]) WITH ORDINALITY AS event (event, at)`,
}
const select = {
  name: 'select',
  text: `SELECT generation, event FROM bare_events
    WHERE task = (SELECT key FROM bare_tasks WHERE task_id = $1) ORDER BY generation`,
}
/** The message, three statuses and an artifact, each about as long as Parley's. */
const events = Array.from({ length: 5 }, () => sampleResponse.slice(0, 200))

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  await read(request)
  const taskId = crypto.randomUUID()
  await pool.query({ ...insert, values: [taskId, crypto.randomUUID(), Date.now(), events] })
  const { rows } = await pool.query({ ...select, values: [taskId] })
  if (rows.length !== events.length) throw new Error(`expected ${events.length} events, got ${rows.length}`)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sampleResponse) })
  response.end(sampleResponse)
}

function read(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
  })
}

const server = createServer(respond).listen(0, '127.0.0.1', () => control((server.address() as AddressInfo).port))
