/**
 * A map whose entries come and go all the time. V8 replaces the table of a `Map` after some deletions, and a replaced table
 * still refers to the values that it had then, and to the next table. As soon as one of these tables is in the old
 * generation, it keeps all later ones alive until the next full collection, and with them every value that was in the map
 * when a table was replaced: under load, half of all values survive, and minor collections take ten times as long. Here the
 * tables refer to slots, and the slot of a deleted entry is empty.
 */
export class SlotMap<K, V extends object> {
  readonly #slots = new Map<K, Slot<V>>()

  get size(): number {
    return this.#slots.size
  }

  get(key: K): V | undefined {
    return this.#slots.get(key)?.value
  }

  set(key: K, value: V): void {
    const slot = this.#slots.get(key)
    if (slot) slot.value = value
    else this.#slots.set(key, { value })
  }

  delete(key: K): void {
    const slot = this.#slots.get(key)
    if (!slot) return
    slot.value = undefined
    this.#slots.delete(key)
  }

  /** In the order in which they were added. */
  keys(): MapIterator<K> {
    return this.#slots.keys()
  }

  /** In the order of their keys. */
  *values(): Generator<V> {
    for (const { value } of this.#slots.values()) if (value) yield value
  }
}

interface Slot<V> {
  value: V | undefined
}
