import type { MessageEvent } from '../../protocol/events.ts'

/** A message and where in the log it lies. */
export interface QueuedMessage {
  readonly event: MessageEvent
  readonly generation: number
}

/** Messages for a task that has not taken them yet, oldest first. A class, because there is one for every run. */
export class MessageQueue {
  #letters: QueuedMessage[] | undefined
  #waiting: ((letter: QueuedMessage) => void)[] | undefined
  #taken = 0
  /** Who wants to know when those of these generations are taken. */
  #awaited: Map<number, () => void> | undefined

  get size(): number {
    return this.#letters?.length ?? 0
  }

  /** The generation of the last one that was taken; 0 if none was. */
  get taken(): number {
    return this.#taken
  }

  /** Whether somebody was waiting for it. */
  push(letter: QueuedMessage): boolean {
    const deliver = this.#waiting?.shift()
    if (deliver) deliver(letter)
    else {
      this.#letters ??= []
      this.#letters.push(letter)
    }
    return deliver !== undefined
  }

  take(): QueuedMessage | undefined {
    const first = this.#letters?.shift()
    if (first) this.#note(first.generation)
    return first
  }

  /** Takes the one of that generation, wherever it stands. */
  drop(generation: number): QueuedMessage | undefined {
    const at = this.#letters?.findIndex((each) => each.generation === generation) ?? -1
    this.#note(generation)
    return at < 0 ? undefined : this.#letters?.splice(at, 1)[0]
  }

  /** Holds these, and no others up to that generation: those are taken. */
  fill(letters: readonly QueuedMessage[], upTo: number): void {
    this.#letters = [...letters]
    for (const generation of this.#awaited?.keys() ?? []) {
      if (generation <= upTo && !letters.some((each) => each.generation === generation)) this.#tell(generation)
    }
  }

  /** Nobody takes them any more. */
  clear(): void {
    this.#letters = undefined
    for (const generation of this.#awaited?.keys() ?? []) this.#tell(generation)
  }

  /** Calls back when the one of that generation is taken, or at once if it was. */
  onTaken(generation: number, then: () => void): void {
    this.#awaited ??= new Map()
    this.#awaited.set(generation, then)
    if (generation <= this.#taken) this.#tell(generation)
  }

  #note(generation: number): void {
    this.#taken = Math.max(this.#taken, generation)
    this.#tell(generation)
  }

  #tell(generation: number): void {
    this.#awaited?.get(generation)?.()
    this.#awaited?.delete(generation)
  }

  /** Waits for the next one, behind others who wait; rejects with the signal's reason. */
  next(signal: AbortSignal): Promise<QueuedMessage> {
    const first = this.take()
    if (first) return Promise.resolve(first)
    this.#waiting ??= []
    const waiting = this.#waiting
    return new Promise((resolve, reject) => {
      const stop = () => {
        waiting.splice(waiting.indexOf(deliver) >>> 0, 1)
        reject(signal.reason)
      }
      const deliver = (letter: QueuedMessage) => {
        this.#note(letter.generation)
        signal.removeEventListener('abort', stop)
        resolve(letter)
      }
      waiting.push(deliver)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
    })
  }
}
