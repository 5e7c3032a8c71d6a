import type { Claim, ReplayCache, Sighting } from '../../mesh/replay-cache.ts'
import type { PostgresPool } from './connection.ts'
import { openDatabase } from './schema.ts'
import { encodeText } from './sql-text.ts'

/** Milliseconds between two times that what is too old is removed, and what is there is counted. */
const sweepInterval = 5_000

const removedAtOnce = 10_000

export interface PostgresReplayCacheOptions {
  /** A `Pool` of the package `pg`; ending it is up to its maker. */
  readonly pool: PostgresPool
  /** The schema with the tables; made if it is not there. `parley` by default, as that of the log. */
  readonly schema?: string
  /** Messages that are remembered, of all replicas. A million by default; when it is full, new ones are refused. */
  readonly capacity?: number
  /** Bytes of answers that are kept. 64 MiB by default; older answers go first. */
  readonly replySize?: number
  readonly now?: () => number
}

export interface PostgresReplayCache extends ReplayCache {
  close(): Promise<void>
}

/** Remembers messages for all replicas that are one agent of the mesh. */
export async function createPostgresReplayCache(options: PostgresReplayCacheOptions): Promise<PostgresReplayCache> {
  const { pool, schema = 'parley', capacity = 1_000_000, replySize = 2 ** 26, now = Date.now } = options
  const closing = new AbortController()
  const what = 'The replay cache'
  const timeouts = { patience: 5_000, statementTimeout: 5_000 }
  const db = await openDatabase({ pool, schema, ...timeouts, closed: closing.signal, what })
  const sightings = db.name('mesh_sightings')
  // Of two that come together one inserts; the other one waits for it, and sees it in its second question.
  const insert = db.prepare(`
    INSERT INTO ${sightings} (message_id, nonce, digest, until) VALUES ($1, $2, $3, $4::float8)
    ON CONFLICT DO NOTHING RETURNING message_id`)
  const select = db.prepare<SightingRow>(
    `SELECT digest, settled, reply FROM ${sightings} WHERE message_id = $1 AND until > $2::float8`,
  )
  const removeOld = db.prepare(
    `DELETE FROM ${sightings} WHERE (message_id = $1 OR nonce = $2) AND until <= $3::float8 RETURNING message_id`,
  )
  const keep = db.prepare(
    `UPDATE ${sightings} SET settled = true, reply = $2 WHERE message_id = $1 RETURNING message_id`,
  )
  const giveBack = db.prepare(`DELETE FROM ${sightings} WHERE message_id = $1 AND NOT settled`)
  const removeAllOld = db.prepare(`
    DELETE FROM ${sightings} WHERE message_id IN (
      SELECT message_id FROM ${sightings} WHERE until <= $1::float8 LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING message_id`)
  const count = db.prepare<{ readonly total: number; readonly first: number | null }>(
    `SELECT count(*)::float8 AS total, min(until) AS first FROM ${sightings}`,
  )
  const dropReplies = db.prepare(`
    UPDATE ${sightings} SET reply = NULL WHERE message_id IN (
      SELECT message_id FROM (
        SELECT message_id, sum(octet_length(reply)) OVER (ORDER BY until DESC, message_id) AS size
        FROM ${sightings} WHERE reply IS NOT NULL) AS kept
      WHERE size > $1::float8)`)
  /** As far as we know; others add to it meanwhile. */
  let total = (await db.patiently(() => count()))[0]?.total ?? 0
  let bytes = 0
  const timer = setInterval(() => void sweep().catch(() => {}), sweepInterval).unref()

  async function sweep(): Promise<void> {
    for (let removed = removedAtOnce; removed === removedAtOnce; ) {
      removed = (await removeAllOld(now(), removedAtOnce)).length
    }
    if (bytes > 0) await dropReplies(replySize)
    bytes = 0
    total = (await count())[0]?.total ?? 0
  }

  /** Undefined if there is room. */
  async function fullFor(): Promise<number | undefined> {
    if (total < capacity) return undefined
    await sweep()
    if (total < capacity) return undefined
    const first = (await count())[0]?.first ?? now()
    return Math.max(1, Math.ceil((first - now()) / 1000))
  }

  async function claim({ messageId, nonce, digest, until }: Sighting): Promise<Claim> {
    const [id, once] = [encodeText(messageId), nonce === undefined ? null : encodeText(nonce)]
    for (;;) {
      const [seen] = await select(id, now())
      if (seen) return claimOf(seen, digest)
      const retryAfter = await fullFor()
      if (retryAfter !== undefined) return { retryAfter }
      const added = await insert(id, once, digest, until)
      if (added.length > 0) {
        total++
        return 'new'
      }
      const [other] = await select(id, now())
      if (other) return claimOf(other, digest)
      const removed = await removeOld(id, once, now())
      // Nothing of the same id, and nothing that is too old: the nonce is another message's.
      if (removed.length === 0) return 'replay'
    }
  }

  return {
    claim: (sighting) => db.patiently(() => claim(sighting)),
    async settle(messageId, reply) {
      const size = Buffer.byteLength(reply)
      await db.patiently(() => keep(encodeText(messageId), size > replySize ? null : reply))
      bytes += size
      if (bytes > replySize / 4) await sweep()
    },
    async release({ messageId }) {
      await db.patiently(() => giveBack(encodeText(messageId)))
      total--
    },
    async close() {
      clearInterval(timer)
      closing.abort()
    },
  }
}

interface SightingRow {
  readonly digest: string
  readonly settled: boolean
  readonly reply: string | null
}

function claimOf({ digest, settled, reply }: SightingRow, wanted: string): Claim {
  if (digest !== wanted) return 'replay'
  if (reply !== null) return { reply }
  return settled ? 'replay' : 'pending'
}
