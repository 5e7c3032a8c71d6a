import type { Database } from './database.ts'

/**
 * What a notification says: who sent it, and of which tasks there is more to read. Tasks are told by a short hash, so
 * that hundreds fit into the 8,000 bytes PostgreSQL allows. If two tasks have the same, a reader looks in vain, once.
 */
export function encodeNotice(sender: string, taskIds: readonly string[]): string {
  return [sender, ...new Set(taskIds.map(hashOf))].join(' ')
}

export function decodeNotice(notice: string): { readonly sender: string; readonly hashes: readonly string[] } {
  const [sender = '', ...hashes] = notice.split(' ')
  return { sender, hashes }
}

/** FNV-1a, in 32 bits. */
export function hashOf(taskId: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < taskId.length; at++) hash = Math.imul(hash ^ taskId.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}

/** So many fit into one in any case. */
const most = 500

/** Tells the other replicas of tasks that changed without an append. */
export function createNotify(db: Database, channel: string, sender: string) {
  const send = db.prepare('SELECT pg_notify($1, $2)')
  return async (taskIds: readonly string[]): Promise<void> => {
    for (let at = 0; at < taskIds.length; at += most) {
      await send(channel, encodeNotice(sender, taskIds.slice(at, at + most)))
    }
  }
}
