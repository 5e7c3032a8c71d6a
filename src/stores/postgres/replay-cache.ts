import { aFunction, checkOptions, integer, type OptionChecks, text } from '../../core/base/options.ts'
import type { ClaimResult, ReplayCache, SeenMessage } from '../../mesh/replay-cache.ts'
import { encodeText } from '../shared/sql-text.ts'
import { type PostgresPool, poolCheck } from './connection.ts'
import { openDatabase } from './schema.ts'

/** Interval at which expired messages are removed and the rest is counted, in milliseconds. */
const sweepInterval = 5_000

const removalBatch = 10_000

/** Options of `createPostgresReplayCache`. */
export interface PostgresReplayCacheOptions {
  /** A `Pool` of the package `pg`, which the cache does not end. */
  readonly pool: PostgresPool
  /** The schema of the tables, created if missing. Defaults to `parley`, as for the log. */
  readonly schema?: string
  /** Number of messages to remember, for all replicas. A full cache refuses new ones. Defaults to 1,000,000. */
  readonly capacity?: number
  /** Maximum size of the stored replies, in bytes; older ones are dropped first. Defaults to 64 MiB. */
  readonly replySize?: number
  readonly now?: () => number
}

const optionChecks: OptionChecks<PostgresReplayCacheOptions> = {
  pool: poolCheck,
  schema: text,
  capacity: integer({ min: 1 }),
  replySize: integer(),
  now: aFunction,
}

/** A replay cache that replicas share. */
export interface PostgresReplayCache extends ReplayCache {
  close(): Promise<void>
}

/** Remembers mesh messages for all replicas of one agent. */
export async function createPostgresReplayCache(options: PostgresReplayCacheOptions): Promise<PostgresReplayCache> {
  checkOptions('createPostgresReplayCache', options, optionChecks, ['pool'])
  const { pool, schema = 'parley', capacity = 1_000_000, replySize = 2 ** 26, now = Date.now } = options
  const closing = new AbortController()
  const subject = 'The replay cache'
  const timeouts = { patience: 5_000, statementTimeout: 5_000 }
  const db = await openDatabase({ pool, schema, ...timeouts, closed: closing.signal, subject })
  const messages = db.name('mesh_sightings')
  // Of two concurrent claims one inserts; the other waits for it, and sees it in its second select.
  const insert = db.prepare<unknown, Id & Nonce & { readonly digest: string; readonly until: number }>(
    ({ id, nonce, digest, until }) => `
    INSERT INTO ${messages} (message_id, nonce, digest, until) VALUES (${id}, ${nonce}, ${digest}, ${until}::float8)
    ON CONFLICT DO NOTHING RETURNING message_id`,
  )
  const select = db.prepare<MessageRow, Id & Time>(
    ({ id, time }) =>
      `SELECT digest, settled, reply FROM ${messages} WHERE message_id = ${id} AND until > ${time}::float8`,
  )
  const removeOld = db.prepare<unknown, Id & Nonce & Time>(
    ({ id, nonce, time }) => `
    DELETE FROM ${messages} WHERE (message_id = ${id} OR nonce = ${nonce}) AND until <= ${time}::float8
    RETURNING message_id`,
  )
  const storeReply = db.prepare<unknown, Id & { readonly reply: string | null }>(
    ({ id, reply }) =>
      `UPDATE ${messages} SET settled = true, reply = ${reply} WHERE message_id = ${id} RETURNING message_id`,
  )
  const release = db.prepare<unknown, Id>(
    ({ id }) => `DELETE FROM ${messages} WHERE message_id = ${id} AND NOT settled`,
  )
  const removeAllOld = db.prepare<unknown, Time & { readonly limit: number }>(
    ({ time, limit }) => `
    DELETE FROM ${messages} WHERE message_id IN (
      SELECT message_id FROM ${messages} WHERE until <= ${time}::float8 LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING message_id`,
  )
  const count = db.prepare<{ readonly total: number; readonly first: number | null }>(
    () => `SELECT count(*)::float8 AS total, min(until) AS first FROM ${messages}`,
  )
  const dropReplies = db.prepare<unknown, { readonly bytes: number }>(
    ({ bytes }) => `
    UPDATE ${messages} SET reply = NULL WHERE message_id IN (
      SELECT message_id FROM (
        SELECT message_id, sum(octet_length(reply)) OVER (ORDER BY until DESC, message_id) AS size
        FROM ${messages} WHERE reply IS NOT NULL) AS sized
      WHERE size > ${bytes}::float8)`,
  )
  /** An estimate: other replicas add messages meanwhile. */
  let total = (await db.withRetry(() => count()))[0]?.total ?? 0
  let bytes = 0
  const timer = setInterval(() => void sweep().catch(() => {}), sweepInterval).unref()

  async function sweep(): Promise<void> {
    for (let removed = removalBatch; removed === removalBatch; ) {
      removed = (await removeAllOld({ time: now(), limit: removalBatch })).length
    }
    if (bytes > 0) await dropReplies({ bytes: replySize })
    bytes = 0
    total = (await count())[0]?.total ?? 0
  }

  /** Seconds until there is room again; undefined if the cache is not full. */
  async function fullFor(): Promise<number | undefined> {
    if (total < capacity) return undefined
    await sweep()
    if (total < capacity) return undefined
    const first = (await count())[0]?.first ?? now()
    return Math.max(1, Math.ceil((first - now()) / 1000))
  }

  async function claim({ messageId, nonce, digest, until }: SeenMessage): Promise<ClaimResult> {
    const key = { id: encodeText(messageId), nonce: nonce === undefined ? null : encodeText(nonce) }
    for (;;) {
      const [seen] = await select({ id: key.id, time: now() })
      if (seen) return claimOf(seen, digest)
      const retryAfter = await fullFor()
      if (retryAfter !== undefined) return { retryAfter }
      const added = await insert({ ...key, digest, until })
      if (added.length > 0) {
        total++
        return 'new'
      }
      const [other] = await select({ id: key.id, time: now() })
      if (other) return claimOf(other, digest)
      const removed = await removeOld({ ...key, time: now() })
      // No row with this id and none that has expired: the nonce belongs to another message.
      if (removed.length === 0) return 'replay'
    }
  }

  return {
    claim: (message) => db.withRetry(() => claim(message)),
    async settle(messageId, reply) {
      const size = Buffer.byteLength(reply)
      await db.withRetry(() => storeReply({ id: encodeText(messageId), reply: size > replySize ? null : reply }))
      bytes += size
      if (bytes > replySize / 4) await sweep()
    },
    async release({ messageId }) {
      await db.withRetry(() => release({ id: encodeText(messageId) }))
      total--
    },
    async close() {
      clearInterval(timer)
      closing.abort()
    },
  }
}

interface Id {
  readonly id: string
}

interface Nonce {
  readonly nonce: string | null
}

interface Time {
  readonly time: number
}

interface MessageRow {
  readonly digest: string
  readonly settled: boolean
  readonly reply: string | null
}

function claimOf({ digest, settled, reply }: MessageRow, expectedDigest: string): ClaimResult {
  if (digest !== expectedDigest) return 'replay'
  if (reply !== null) return { reply }
  return settled ? 'replay' : 'pending'
}
