export interface ReplayCacheOptions {
  /** Messages that are remembered. When it is full, new ones are refused: to forget old ones would let them in again. */
  readonly capacity?: number
  /** Characters of answers that are kept. Older answers go first. */
  readonly replySize?: number
  readonly now?: () => number
}

/** A message as it is remembered. */
export interface Sighting {
  readonly messageId: string
  /** The nonce and whose it is; an unsigned message has none. */
  readonly nonce?: string
  /** The same for the same message only. */
  readonly digest: string
  /** Milliseconds since 1970 until which it must be remembered. */
  readonly until: number
}

/** `pending`: the same message is being worked on. `retryAfter`: nothing more can be remembered for so many seconds. */
export type Claim = 'new' | 'replay' | 'pending' | { readonly reply: string } | { readonly retryAfter: number }

/** Knows what was seen, so that nothing is done twice. Replicas that serve one agent share one. */
export interface ReplayCache {
  /** Whoever gets `new` may work on the message; nobody else gets it again. */
  claim(sighting: Sighting): Promise<Claim> | Claim
  /** Keeps the answer for whoever asks again with the same bytes. */
  settle(messageId: string, reply: string): Promise<void> | void
  /** The message was not worked on, and may come again. */
  release(sighting: Sighting): Promise<void> | void
}

export function createReplayCache({
  capacity = 1_000_000,
  replySize = 2 ** 26,
  now = Date.now,
}: ReplayCacheOptions = {}): ReplayCache {
  /** In the order in which they run out, which is the order in which they came. */
  const entries = new Map<string, Entry>()
  const nonces = new Set<string>()
  const replies = new Map<string, string>()
  let kept = 0

  function forget(messageId: string, entry: Entry): void {
    entries.delete(messageId)
    if (entry.nonce !== undefined) nonces.delete(entry.nonce)
    dropReply(messageId)
  }
  function dropReply(messageId: string): void {
    kept -= replies.get(messageId)?.length ?? 0
    replies.delete(messageId)
  }
  function sweep(moment: number): void {
    for (const [messageId, entry] of entries) {
      if (entry.until > moment) return
      forget(messageId, entry)
    }
  }

  return {
    claim({ messageId, nonce, digest, until }) {
      const moment = now()
      sweep(moment)
      const seen = entries.get(messageId)
      if (seen) {
        if (seen.digest !== digest) return 'replay'
        const reply = replies.get(messageId)
        if (reply !== undefined) return { reply }
        return seen.isSettled ? 'replay' : 'pending'
      }
      if (nonce !== undefined && nonces.has(nonce)) return 'replay'
      if (entries.size >= capacity) return { retryAfter: roomAfter(entries, moment) }
      entries.set(messageId, { nonce, digest, until, isSettled: false })
      if (nonce !== undefined) nonces.add(nonce)
      return 'new'
    },
    settle(messageId, reply) {
      const entry = entries.get(messageId)
      if (!entry) return
      entry.isSettled = true
      replies.set(messageId, reply)
      kept += reply.length
      for (const oldest of replies.keys()) {
        if (kept <= replySize) return
        dropReply(oldest)
      }
    },
    release({ messageId }) {
      const entry = entries.get(messageId)
      if (entry) forget(messageId, entry)
    },
  }
}

interface Entry {
  readonly nonce: string | undefined
  readonly digest: string
  readonly until: number
  isSettled: boolean
}

function roomAfter(entries: ReadonlyMap<string, Entry>, moment: number): number {
  const [oldest] = entries.values()
  return Math.max(1, Math.ceil(((oldest?.until ?? moment) - moment) / 1000))
}
