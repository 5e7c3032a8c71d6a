/** A member of a `LinkedList`. It is a member of at most one list. */
export class Linked {
  previous: this | undefined
  next: this | undefined
}

/**
 * Members in the order in which they were added, for members that come and go all the time. The tables of a `Set` would keep
 * removed members alive, for the reason that `slot-map.ts` gives; a list refers to its current members only.
 */
export class LinkedList<T extends Linked> {
  #first: T | undefined
  #last: T | undefined

  get isEmpty(): boolean {
    return this.#first === undefined
  }

  add(member: T): void {
    member.previous = this.#last
    if (this.#last) this.#last.next = member
    else this.#first = member
    this.#last = member
  }

  /** Members must be removed only once. A removed member refers to no other. */
  remove(member: T): void {
    const { previous, next } = member
    if (previous) previous.next = next
    else this.#first = next
    if (next) next.previous = previous
    else this.#last = previous
    member.previous = undefined
    member.next = undefined
  }

  /** The current member may be removed meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    let member = this.#first
    while (member) {
      const { next }: T = member
      yield member
      member = next
    }
  }
}
