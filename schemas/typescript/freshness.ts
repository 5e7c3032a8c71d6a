export type Freshness = 'FRESH' | 'STALE' | 'FUTURE'

/** A message may be 300 s old, and 60 s ahead of our clock. */
export function freshnessOf(timestamp: string, now: number = Date.now()): Freshness {
  const age = now - Date.parse(timestamp)
  if (age > 300_000) return 'STALE'
  return age < -60_000 ? 'FUTURE' : 'FRESH'
}
