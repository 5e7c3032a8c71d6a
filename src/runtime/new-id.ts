/**
 * The id of a task or a context: 128 random bits that nobody guesses, after the time. Who has no credentials is let in
 * by them. Ids that grow with time lie side by side in a store's index, which made creating a task on SQLite a third
 * cheaper.
 */
export function newId(): string {
  return `${Date.now().toString(16).padStart(12, '0')}-${random128()}`
}

/** Whether it can be one of ours. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{12}-[0-9a-f]{32}$/.test(text)
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Asking for many bytes costs as much as asking for few. */
const pool = new Uint8Array(4096)
let at = pool.length

function random128(): string {
  if (at === pool.length) {
    crypto.getRandomValues(pool)
    at = 0
  }
  let text = ''
  for (const end = at + 16; at < end; at++) text += hex[pool[at] ?? 0]
  return text
}
