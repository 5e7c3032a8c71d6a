export interface RateLimitOptions {
  /** Requests per second on the long run. */
  readonly perSecond: number
  /** Requests that may come at once. */
  readonly burst?: number
  /** Peers that are remembered. Of more, those who were quiet for longest start anew. */
  readonly peers?: number
  readonly now?: () => number
}

/** How often a peer may ask. Replicas that serve one agent may share one. */
export interface RateLimit {
  /** Takes one request of the peer; answers 0, or the seconds after which the next one is taken. */
  take(peer: string): Promise<number> | number
}

/** A bucket per peer that fills steadily. */
export function createRateLimit({
  perSecond,
  burst = Math.max(1, perSecond),
  peers = 10_000,
  now = Date.now,
}: RateLimitOptions): RateLimit {
  const buckets = new Map<string, Bucket>()
  return {
    take(peer) {
      const moment = now()
      const bucket = buckets.get(peer) ?? { tokens: burst, filledAt: moment }
      bucket.tokens = Math.min(burst, bucket.tokens + ((moment - bucket.filledAt) / 1000) * perSecond)
      bucket.filledAt = moment
      buckets.delete(peer)
      buckets.set(peer, bucket)
      if (buckets.size > peers) buckets.delete(buckets.keys().next().value ?? peer)
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond))
      bucket.tokens--
      return 0
    },
  }
}

interface Bucket {
  tokens: number
  filledAt: number
}
