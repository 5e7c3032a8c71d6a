/** A member of a `LinkedList`. It is a member of at most one list. */
export class Linked {
  previous: this | undefined
  next: this | undefined
}

/**
 * Members in the order in which they were added, for members that come and go all the time. V8 replaces the table of a `Set`
 * or `Map` after some deletions, and each replaced table still refers to its members and to the next table. Once one table is
 * in the old generation, it keeps all later ones and their former members alive until the next full collection.
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
