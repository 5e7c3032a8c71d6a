/** Reproducible random numbers: the same seed yields the same sequence. */
export interface Random {
  /** An integer from 0 to below `limit`. */
  below(limit: number): number
  pick<T>(items: readonly T[]): T
  chance(probability: number): boolean
  bytes(length: number): Uint8Array<ArrayBuffer>
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0

  /** mulberry32: small, and good enough to choose faults. */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    chance: (probability) => next() < probability,
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
  }
}
