import type { MessageEvent } from '../../protocol/events.ts'

/** A message and its generation in the log. */
export interface QueuedMessage {
  readonly event: MessageEvent
  readonly generation: number
}

/** The messages that a task has not taken yet, oldest first. A class, because there is one for every run. */
export class MessageQueue {
  #messages: QueuedMessage[] | undefined
  #receivers: ((message: QueuedMessage) => void)[] | undefined
  #taken = 0
  /** Callbacks by the generation of the message that they wait for. */
  #onTaken: Map<number, () => void> | undefined
  #onAwaited: (() => void) | undefined

  get size(): number {
    return this.#messages?.length ?? 0
  }

  /** Whether a receiver waits for the next message. */
  get isAwaited(): boolean {
    return this.#receivers !== undefined && this.#receivers.length > 0
  }

  /** The highest generation that was taken. 0 if none was. */
  get taken(): number {
    return this.#taken
  }

  /** Returns whether a receiver was waiting for the message. */
  push(message: QueuedMessage): boolean {
    const deliver = this.#receivers?.shift()
    if (deliver) deliver(message)
    else {
      this.#messages ??= []
      this.#messages.push(message)
    }
    return deliver !== undefined
  }

  take(): QueuedMessage | undefined {
    const message = this.#messages?.shift()
    if (message) this.#markTaken(message.generation)
    return message
  }

  /** Takes the message of a generation, wherever it stands. */
  takeAt(generation: number): QueuedMessage | undefined {
    const index = this.#messages?.findIndex((message) => message.generation === generation) ?? -1
    this.#markTaken(generation)
    return index < 0 ? undefined : this.#messages?.splice(index, 1)[0]
  }

  /** Waits for the next message, behind earlier receivers. Rejects with the signal's reason, and takes nothing then. */
  next(signal: AbortSignal): Promise<QueuedMessage> {
    if (signal.aborted) return Promise.reject(signal.reason)
    const message = this.take()
    if (message) return Promise.resolve(message)
    this.#receivers ??= []
    const receivers = this.#receivers
    return new Promise((resolve, reject) => {
      const stop = () => {
        receivers.splice(receivers.indexOf(deliver) >>> 0, 1)
        reject(signal.reason)
      }
      const deliver = (message: QueuedMessage) => {
        this.#markTaken(message.generation)
        signal.removeEventListener('abort', stop)
        resolve(message)
      }
      receivers.push(deliver)
      signal.addEventListener('abort', stop, { once: true })
      this.#onAwaited?.()
    })
  }

  /** Replaces the messages up to `generation`. Messages that are not in `messages` count as taken. */
  reset(messages: readonly QueuedMessage[], generation: number): void {
    const later = this.#messages?.filter((message) => message.generation > generation) ?? []
    this.#messages = [...messages, ...later]
    for (const awaited of this.#onTaken?.keys() ?? []) {
      if (awaited <= generation && !messages.some((message) => message.generation === awaited)) this.#notify(awaited)
    }
  }

  /** Removes all messages; callbacks are called as if they were taken. */
  clear(): void {
    this.#messages = undefined
    for (const generation of this.#onTaken?.keys() ?? []) this.#notify(generation)
  }

  /** Calls back when the message of a generation is taken, or at once if it was. */
  onTaken(generation: number, callback: () => void): void {
    this.#onTaken ??= new Map()
    this.#onTaken.set(generation, callback)
    if (generation <= this.#taken) this.#notify(generation)
  }

  /** Calls back whenever a receiver waits for a message, and at once if one does. */
  onAwaited(callback: () => void): void {
    this.#onAwaited = callback
    if (this.#receivers?.length) callback()
  }

  #markTaken(generation: number): void {
    this.#taken = Math.max(this.#taken, generation)
    this.#notify(generation)
  }

  #notify(generation: number): void {
    this.#onTaken?.get(generation)?.()
    this.#onTaken?.delete(generation)
  }
}
