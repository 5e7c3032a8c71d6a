import type { TaskEvent } from '../../protocol/events.ts'
import type { Part } from '../../protocol/model.ts'
import { expectedAfter, isEnded, isInterrupted, type Phase } from '../../protocol/states.ts'

/** An agent that emits without `await` fills memory. Beyond this many waiting events, it is stopped. */
const maxWaiting = 100_000

const maxBatch = 1_000

/** How much of a task's output may wait to be stored before the agent waits too. */
const maxWindow = { events: 256, characters: 1024 * 1024 }

const entered = Promise.resolve()

/** The events of a task that are emitted and neither stored nor rejected. A class, because there is one for every run. */
export class Emissions {
  /** Those that are in no batch yet. */
  #waiting: Emission[] = []
  #events = 0
  #characters = 0
  /** One of those that are in no batch yet is beyond the window, and the agent waits for it. */
  #isAwaited = false
  #expectedPhase: Phase

  constructor(phase: Phase) {
    this.#expectedPhase = phase
  }

  /** The phase after all of them, if other code appends nothing in between. */
  get expectedPhase(): Phase {
    return this.#expectedPhase
  }

  /** The last one that is in no batch yet. */
  get last(): Emission | undefined {
    return this.#waiting.at(-1)
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Whether the agent is going to emit more as soon as they are stored. */
  get isAwaited(): boolean {
    return this.#isAwaited
  }

  /** Resolves when the agent may emit more: at once, or beyond the window, when the event is stored. */
  enter(emission: Emission): Promise<void> {
    if (this.#events < maxWindow.events && this.#characters <= maxWindow.characters) return entered
    this.#isAwaited = true
    return emission.stored()
  }

  add(event: TaskEvent): Emission {
    const emission = new Emission(event, sizeOf(event))
    this.#waiting.push(emission)
    this.#events++
    this.#characters += emission.size
    this.#expectedPhase = expectedAfter(event, this.#expectedPhase) ?? this.#expectedPhase
    return emission
  }

  /** Whether the event ends or pauses a turn, or is going to be rejected. */
  isDecisive(event: TaskEvent): boolean {
    const phase = expectedAfter(event, this.#expectedPhase)
    return phase === undefined || isEnded(phase) || isInterrupted(phase)
  }

  takeBatch(): readonly Emission[] {
    this.#isAwaited = false
    return this.#waiting.splice(0, maxBatch)
  }

  /** Takes all if they are more than an agent may emit without `await`. */
  takeFlood(): { readonly batch: readonly Emission[]; readonly text: string } | undefined {
    if (this.#waiting.length <= maxWaiting) return undefined
    const text = `More than ${maxWaiting} events wait to be stored: await what you emit.`
    return { batch: this.#waiting.splice(0), text }
  }

  /** Called for each that is about to be resolved or rejected. */
  remove({ size }: Emission): void {
    this.#events--
    this.#characters -= size
  }

  /** None is left, and this is the phase after them. */
  finish(phase: Phase): void {
    this.#expectedPhase = phase
  }
}

/** An event until it is stored or rejected. A promise costs more than the event, and few are waited for. */
export class Emission {
  readonly event: TaskEvent
  /** In characters. */
  readonly size: number
  #waiter: PromiseWithResolvers<void> | undefined
  #outcome: Promise<void> | undefined

  constructor(event: TaskEvent, size: number) {
    this.event = event
    this.size = size
  }

  /** Resolves when the event is stored. Rejects if it could not be stored. */
  stored(): Promise<void> {
    if (this.#outcome) return this.#outcome
    this.#waiter ??= Promise.withResolvers<void>()
    return this.#waiter.promise
  }

  resolve(): void {
    this.#outcome = entered
    this.#waiter?.resolve()
  }

  reject(reason: unknown): void {
    this.#outcome = this.#waiter?.promise ?? Promise.reject(reason)
    // An agent that does not await the event must not crash the process by an unhandled rejection.
    this.#outcome.catch(() => {})
    this.#waiter?.reject(reason)
  }
}

/** The size of the content of an event in characters, without its ids and metadata. */
function sizeOf(event: TaskEvent): number {
  if (event.type === 'artifact') return sizeOfParts(event.artifact.parts)
  return event.type === 'status' && event.status.message ? sizeOfParts(event.status.message.parts) : 0
}

function sizeOfParts(parts: readonly Part[]): number {
  let size = 0
  for (const part of parts) {
    if ('text' in part) size += part.text.length
    else if ('raw' in part) size += part.raw.length
    else if ('data' in part) size += JSON.stringify(part.data).length
  }
  return size
}
