/**
 * A `Map` for values that come and go all the time.
 *
 * V8 replaces the table of a `Map` after some deletions, and a replaced table still refers to the values that it had then,
 * and to the next table. As soon as one of them is in the old generation, it keeps all later ones alive until the next full
 * collection, and with them every value that was in the map when a table was replaced: a third of all values under load.
 * Here the tables refer to slots, and the slot of a deleted value is empty.
 */
export class SlotMap<Key, Value> {
  readonly #slots = new Map<Key, { value: Value | undefined }>()

  get size(): number {
    return this.#slots.size
  }

  get(key: Key): Value | undefined {
    return this.#slots.get(key)?.value
  }

  set(key: Key, value: Value): void {
    const slot = this.#slots.get(key)
    if (slot) slot.value = value
    else this.#slots.set(key, { value })
  }

  delete(key: Key): void {
    const slot = this.#slots.get(key)
    if (slot) slot.value = undefined
    this.#slots.delete(key)
  }

  *[Symbol.iterator](): Generator<[Key, Value]> {
    for (const [key, { value }] of this.#slots) if (value !== undefined) yield [key, value]
  }

  *values(): Generator<Value> {
    for (const { value } of this.#slots.values()) if (value !== undefined) yield value
  }
}
