/**
 * A map of at most `limit` entries. A new entry beyond that replaces one that was not used since it was last
 * considered, oldest first (the SIEVE algorithm). Reading does not reorder: to delete and insert one hot key again and
 * again makes every lookup in a `Map` of 5,000 entries take 16 µs.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, Entry<V>>()
  readonly #limit: number
  readonly #now: () => number
  /** Where the search for an unused entry continues. */
  #hand = this.#entries.entries()

  constructor(limit: number, now: () => number = Date.now) {
    this.#limit = limit
    this.#now = now
  }

  get size(): number {
    return this.#entries.size
  }

  has(key: K): boolean {
    return this.get(key) !== undefined
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry.until !== Infinity && entry.until <= this.#now()) {
      this.#entries.delete(key)
      return undefined
    }
    entry.isUsed = true
    return entry.value
  }

  /** `until` is the moment, in milliseconds since 1970, from which the value has expired. */
  set(key: K, value: V, until = Infinity): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      entry.value = value
      entry.until = until
      entry.isUsed = true
      return
    }
    if (this.#limit < 1) return
    if (this.#entries.size >= this.#limit) this.#evict()
    this.#entries.set(key, { value, until, isUsed: false })
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }

  #evict(): void {
    for (;;) {
      const { done, value } = this.#hand.next()
      if (done) this.#hand = this.#entries.entries()
      else if (value[1].isUsed && value[1].until > this.#now()) value[1].isUsed = false
      else {
        this.#entries.delete(value[0])
        return
      }
    }
  }
}

interface Entry<V> {
  value: V
  until: number
  isUsed: boolean
}
