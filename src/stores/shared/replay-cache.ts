import { aFunction, integer } from '../../core/base/options.ts'
import type { ClaimResult, ReplayCache, SeenMessage } from '../../mesh/replay-cache.ts'
import type { Database } from './database.ts'

/** Interval at which expired messages are removed and the rest is counted, in milliseconds. */
const sweepInterval = 5_000

const removalBatch = 10_000

/** Options of a replay cache in a database on a server. */
export interface ServerReplayCacheOptions {
  /** Number of messages to remember, for all replicas. A full cache refuses new ones. Defaults to 1,000,000. */
  readonly capacity?: number
  /** Maximum size of the stored replies, in bytes; older ones are dropped first. Defaults to 64 MiB. */
  readonly replySize?: number
  readonly now?: () => number
}

export const replayCacheChecks = { capacity: integer({ min: 1 }), replySize: integer(), now: aFunction }

export const replayCacheTimeouts = { patience: 5_000, statementTimeout: 5_000, subject: 'The replay cache' }

/** A replay cache that replicas share. */
export interface ServerReplayCache extends ReplayCache {
  close(): Promise<void>
}

export async function createServerReplayCache(
  open: (closed: AbortSignal) => Promise<Database>,
  options: ServerReplayCacheOptions,
): Promise<ServerReplayCache> {
  const { capacity = 1_000_000, replySize = 2 ** 26, now = Date.now } = options
  const closing = new AbortController()
  const db = await open(closing.signal)
  const { double, encodeKey, insertNew, deleteSome } = db.syntax
  const messages = db.name('mesh_sightings')
  // Of two concurrent claims one inserts; the other waits for it, and sees it in its second select.
  const insert = db.prepareChange<Id & Nonce & { readonly digest: string; readonly until: number }>(
    ({ id, nonce, digest, until }) =>
      insertNew(messages, { message_id: id, nonce, digest, until: double(until), settled: 'false' }),
  )
  const select = db.prepare<MessageRow, Id & Time>(
    ({ id, time }) =>
      `SELECT digest, settled, reply FROM ${messages} WHERE message_id = ${id} AND until > ${double(time)}`,
  )
  const removeOld = db.prepareChange<Id & Nonce & Time>(
    ({ id, nonce, time }) =>
      `DELETE FROM ${messages} WHERE (message_id = ${id} OR nonce = ${nonce}) AND until <= ${double(time)}`,
  )
  const storeReply = db.prepareChange<Id & { readonly reply: string | null }>(
    ({ id, reply }) => `UPDATE ${messages} SET settled = true, reply = ${reply} WHERE message_id = ${id}`,
  )
  const release = db.prepareChange<Id>(({ id }) => `DELETE FROM ${messages} WHERE message_id = ${id} AND NOT settled`)
  const removeAllOld = db.prepareChange<Time & { readonly limit: number }>(({ time, limit }) =>
    deleteSome(messages, 'message_id', `until <= ${double(time)}`, limit),
  )
  const count = db.prepare<{ readonly total: number | string; readonly first: number | null }>(
    () => `SELECT count(*) AS total, min(until) AS first FROM ${messages}`,
  )
  const dropReplies = db.prepareChange<{ readonly bytes: number }>(
    ({ bytes }) => `
    UPDATE ${messages} SET reply = NULL WHERE message_id IN (
      SELECT message_id FROM (
        SELECT message_id, sum(octet_length(reply)) OVER (ORDER BY until DESC, message_id) AS size
        FROM ${messages} WHERE reply IS NOT NULL) AS sized
      WHERE size > ${double(bytes)})`,
  )
  const countAll = async () => Number((await count())[0]?.total ?? 0)
  /** An estimate: other replicas add messages meanwhile. */
  let total = await db.withRetry(countAll)
  let bytes = 0
  const timer = setInterval(() => void sweep().catch(() => {}), sweepInterval).unref()

  async function sweep(): Promise<void> {
    for (let removed = removalBatch; removed === removalBatch; ) {
      removed = await removeAllOld({ time: now(), limit: removalBatch })
    }
    if (bytes > 0) await dropReplies({ bytes: replySize })
    bytes = 0
    total = await countAll()
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
    const key = { id: encodeKey(messageId), nonce: nonce === undefined ? null : encodeKey(nonce) }
    for (;;) {
      const [seen] = await select({ id: key.id, time: now() })
      if (seen) return claimOf(seen, digest)
      const retryAfter = await fullFor()
      if (retryAfter !== undefined) return { retryAfter }
      if ((await insert({ ...key, digest, until })) > 0) {
        total++
        return 'new'
      }
      const [other] = await select({ id: key.id, time: now() })
      if (other) return claimOf(other, digest)
      // No row with this id and none that has expired: the nonce belongs to another message.
      if ((await removeOld({ ...key, time: now() })) === 0) return 'replay'
    }
  }

  return {
    claim: (message) => db.withRetry(() => claim(message)),
    async settle(messageId, reply) {
      const size = Buffer.byteLength(reply)
      await db.withRetry(() => storeReply({ id: encodeKey(messageId), reply: size > replySize ? null : reply }))
      bytes += size
      if (bytes > replySize / 4) await sweep()
    },
    async release({ messageId }) {
      await db.withRetry(() => release({ id: encodeKey(messageId) }))
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
  readonly settled: boolean | number
  readonly reply: string | null
}

function claimOf({ digest, settled, reply }: MessageRow, expectedDigest: string): ClaimResult {
  if (digest !== expectedDigest) return 'replay'
  if (reply !== null) return { reply }
  return settled ? 'replay' : 'pending'
}
