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
