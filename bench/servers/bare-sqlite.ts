import { fdatasync, openSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createSqliteLog } from 'parley-a2a'
import { sampleResponse } from '../sample-responses.ts'
import { control } from './control.ts'

/**
 * Inserts the rows of a small task into the tables of a task log and syncs them to disk, without any protocol work.
 * Requests that wait for the same sync share a transaction. This is the least that a durable server can do per request.
 */
const [directory = '.'] = process.argv.slice(2)
const file = join(directory, 'bare.db')
await createSqliteLog({ file }).close() // creates the tables
const db = new DatabaseSync(file)
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000')
const insertTask = db.prepare(`
  INSERT INTO tasks (task_id, context_id, owner, generation, phase, status_row, status_answered, created, changed, ended, fence)
  VALUES (?, ?, 'anonymous', 5, 'completed', 5, 0, ?, ?, 1, 1)`)
const insertEvents = db.prepare('INSERT INTO events (task, generation, events, at) VALUES (?, 5, ?, ?)')
const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')]
/** The message, three statuses and an artifact, together about as long as Parley's. */
const events = JSON.stringify(Array.from({ length: 5 }, () => sampleResponse.slice(0, 140)))

let waiting: ServerResponse[] = []
let isSyncing = false
begin.run()
commit.run()
const wal = openSync(`${file}-wal`, 'r+')

function respond(request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  request.once('end', () => {
    if (waiting.push(response) === 1 && !isSyncing) setImmediate(store)
  })
}

function store(): void {
  const stored = waiting
  waiting = []
  isSyncing = true
  begin.run()
  for (const _ of stored) {
    const now = Date.now()
    // Ids that grow with time, as Parley's do.
    const id = () => `${now.toString(16).padStart(12, '0')}-${crypto.randomUUID()}`
    const { lastInsertRowid } = insertTask.run(id(), id(), now, now)
    insertEvents.run(lastInsertRowid, events, now)
  }
  commit.run()
  fdatasync(wal, (error) => {
    if (error) throw error
    isSyncing = false
    for (const response of stored) {
      const length = Buffer.byteLength(sampleResponse)
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': length }).end(sampleResponse)
    }
    if (waiting.length > 0) setImmediate(store)
  })
}

const server = createServer(respond).listen(0, '127.0.0.1', () => control((server.address() as AddressInfo).port))
