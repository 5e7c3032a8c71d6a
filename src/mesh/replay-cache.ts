import { aFunction, checkOptions, integer } from '../core/base/options.ts'
/** Options of `createReplayCache`. */
export interface ReplayCacheOptions {
  /**
   * Messages that are remembered. A full cache rejects new messages: evicting one would allow its replay. Defaults to
   * 1,000,000.
   */
  readonly capacity?: number
  /** Total characters of cached answers; the oldest are dropped first. Defaults to 64 Mi. */
  readonly replySize?: number
  readonly now?: () => number
}

/** What the cache stores of a message. */
export interface SeenMessage {
  readonly messageId: string
  /** The nonce with its sender and key. Unsigned messages have none. */
  readonly nonce?: string
  /** Identifies the content of the message. */
  readonly digest: string
  /** When it may be forgotten, in milliseconds since 1970. */
  readonly until: number
}

/** `pending`: the same message is being handled. `retryAfter`: the cache is full for this many seconds. */
export type ClaimResult = 'new' | 'replay' | 'pending' | { readonly reply: string } | { readonly retryAfter: number }

/** Remembers messages, so that none is handled twice. Replicas of one agent share a cache. */
export interface ReplayCache {
  /** Returns `new` once per message; that caller handles it. */
  claim(message: SeenMessage): Promise<ClaimResult> | ClaimResult
  /** Stores the answer for repetitions of the same message. */
  settle(messageId: string, reply: string): Promise<void> | void
  /** The message was not handled and may be sent again. */
  release(message: SeenMessage): Promise<void> | void
}

/** Creates a replay cache in memory. It remembers the envelopes of one process. */
export function createReplayCache(options: ReplayCacheOptions = {}): ReplayCache {
  checkOptions('createReplayCache', options, { capacity: integer({ min: 1 }), replySize: integer(), now: aFunction })
  const { capacity = 1_000_000, replySize = 2 ** 26, now = Date.now } = options
  /** In order of arrival, which is also the order of expiry. */
  const entries = new Map<string, Entry>()
  const nonces = new Set<string>()
  const replies = new Map<string, string>()
  let replyCharacters = 0

  function forget(messageId: string, entry: Entry): void {
    entries.delete(messageId)
    if (entry.nonce !== undefined) nonces.delete(entry.nonce)
    dropReply(messageId)
  }
  function dropReply(messageId: string): void {
    replyCharacters -= replies.get(messageId)?.length ?? 0
    replies.delete(messageId)
  }
  function dropExpired(moment: number): void {
    for (const [messageId, entry] of entries) {
      if (entry.until > moment) return
      forget(messageId, entry)
    }
  }

  return {
    claim({ messageId, nonce, digest, until }) {
      const moment = now()
      dropExpired(moment)
      const entry = entries.get(messageId)
      if (entry) {
        if (entry.digest !== digest) return 'replay'
        const reply = replies.get(messageId)
        if (reply !== undefined) return { reply }
        return entry.isSettled ? 'replay' : 'pending'
      }
      if (nonce !== undefined && nonces.has(nonce)) return 'replay'
      if (entries.size >= capacity) return { retryAfter: secondsUntilSpace(entries, moment) }
      entries.set(messageId, { nonce, digest, until, isSettled: false })
      if (nonce !== undefined) nonces.add(nonce)
      return 'new'
    },
    settle(messageId, reply) {
      const entry = entries.get(messageId)
      if (!entry) return
      entry.isSettled = true
      replies.set(messageId, reply)
      replyCharacters += reply.length
      for (const oldest of replies.keys()) {
        if (replyCharacters <= replySize) return
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

function secondsUntilSpace(entries: ReadonlyMap<string, Entry>, moment: number): number {
  const [oldest] = entries.values()
  return Math.max(1, Math.ceil(((oldest?.until ?? moment) - moment) / 1000))
}
