import type { Clock } from '../../base/clock.ts'
import { redactSecrets } from '../../base/error-summary.ts'
import { defined } from '../../base/json.ts'
import { spanIdOf } from '../../base/trace-context.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { TaskEvent, TraceEntry, TraceSize } from '../../protocol/events.ts'
import type { Activity, ActivityDetails, Span } from '../../protocol/telemetry.ts'
import type { TraceSettings } from '../options.ts'

/** Characters of the arguments, or of the result, of one entry. */
const maxContent = 2_000

/** Entries are smaller without content. It may take this share of the bytes, so that many of them fit. */
const contentShare = 0.75

/** A piece of work that the trace of a task records. Steps are not observed by telemetry. */
export type TracedActivity =
  | Extract<Activity, { type: 'model' | 'tool' | 'call' }>
  | { readonly type: 'step'; readonly step: string }

/**
 * Collects what the turns of a task do, until it is stored with their next event: a trace costs no write of its own. A
 * class, because a run that records something has one.
 */
export class TaskTrace {
  readonly #settings: TraceSettings
  readonly #clock: Clock
  #size: TraceSize = { entries: 0, bytes: 0 }
  /** Entries that are not stored yet, and how many of them are in the write that is on its way. */
  readonly #waiting: TraceEntry[] = []
  #sent = 0
  #isFull = false

  constructor(settings: TraceSettings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
  }

  /** Continues a trace that earlier runs have stored. */
  continueAfter(size: TraceSize): void {
    if (size.entries > this.#size.entries) this.#size = size
    this.#isFull = this.#size.entries >= this.#settings.entries
  }

  /** Starts an entry. It is recorded when the returned span ends, unless `isKept` says no. */
  begin(activity: TracedActivity, span: Span | undefined, { redact, isKept }: RecordingOptions): Span {
    return new Recording(activity, span, {
      now: () => this.#clock.now(),
      keepsContent: this.#settings.content && this.#size.bytes < this.#settings.bytes * contentShare,
      redact,
      onEnd: (entry) => isKept() && this.#add(entry),
    })
  }

  /** The events of a write, the last one with the entries that wait. */
  attachTo(events: readonly TaskEvent[]): readonly TaskEvent[] {
    const last = events.at(-1)
    if (!last || this.#waiting.length === 0) return events
    this.#sent = this.#waiting.length
    return [...events.slice(0, -1), { ...last, traceChunk: { entries: [...this.#waiting], total: this.#size } }]
  }

  /** The write is stored. */
  settle(): void {
    this.#waiting.splice(0, this.#sent)
    this.#sent = 0
  }

  #add(entry: TraceEntry): void {
    if (this.#isFull) return
    const bytes = this.#size.bytes + JSON.stringify(entry).length
    // The last entry says that others are missing.
    this.#isFull = this.#size.entries + 1 >= this.#settings.entries || bytes > this.#settings.bytes
    this.#waiting.push(this.#isFull ? { type: 'limit', name: '', at: entry.at, duration: 0 } : entry)
    this.#size = { entries: this.#size.entries + 1, bytes: this.#isFull ? this.#size.bytes : bytes }
  }
}

interface RecordingOptions {
  /** Removes the secrets of the turn. */
  readonly redact: <T>(value: T) => T
  /** False for work that a resumed turn only repeats from its journal. */
  readonly isKept: () => boolean
}

/** Runs work and records it. `span`: that of the telemetry, which learns everything but content. */
export async function record<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    const result = await work(span)
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}

interface RecordedAs extends Pick<RecordingOptions, 'redact'> {
  readonly now: () => number
  readonly keepsContent: boolean
  readonly onEnd: (entry: TraceEntry) => void
}

class Recording implements Span {
  readonly trace: Span['trace']
  readonly keepsContent: boolean
  readonly #activity: TracedActivity
  readonly #span: Span | undefined
  readonly #options: RecordedAs
  readonly #at: number
  #details: ActivityDetails = {}
  #isOver = false

  constructor(activity: TracedActivity, span: Span | undefined, options: RecordedAs) {
    this.trace = span?.trace
    this.keepsContent = options.keepsContent
    this.#activity = activity
    this.#span = span
    this.#options = options
    this.#at = options.now()
  }

  run<T>(work: () => T): T {
    return this.#span ? this.#span.run(work) : work()
  }

  addDetails(more: ActivityDetails): void {
    this.#details = { ...this.#details, ...more }
    const { input: _, output: __, error: ___, ...others } = more
    this.#span?.addDetails(others)
  }

  end(failure?: unknown): void {
    this.#span?.end(failure)
    if (this.#isOver) return
    this.#isOver = true
    const { inputTokens, outputTokens, finish, retries, calledTask: taskId } = this.#details
    const duration = Math.max(0, this.#options.now() - this.#at)
    const entry: TraceEntry = defined({
      type: this.#activity.type,
      name: this.#details.agent ?? nameOf(this.#activity),
      at: this.#at,
      duration,
      inputTokens,
      outputTokens,
      finish,
      retries: retries || undefined,
      taskId,
      callId: this.#activity.type === 'tool' ? this.#activity.callId : undefined,
      spanId: this.trace && spanIdOf(this.trace),
      ...this.#content(),
      failure: failure === undefined ? undefined : this.#failure(failure),
    })
    this.#options.onEnd(entry)
  }

  #content(): Pick<TraceEntry, 'input' | 'output'> {
    if (!this.keepsContent) return {}
    const { input, output } = this.#details
    return defined({ input: this.#textOf(input), output: this.#textOf(output) })
  }

  #failure(failure: unknown): TraceEntry['failure'] {
    const { error = failure } = this.#details
    const type = failure instanceof A2AError ? failure.code : failure instanceof Error ? failure.name : typeof failure
    const message = error instanceof Error ? error.message : error
    return defined({ type, message: this.keepsContent ? this.#textOf(message) : undefined })
  }

  /** Secrets are removed before the text is cut: a part of one would not be recognised. */
  #textOf(value: unknown): string | undefined {
    const redacted = this.#options.redact(value)
    const text = typeof redacted === 'string' ? redacted : encode(redacted)
    if (text === undefined) return undefined
    const safe = redactSecrets(text)
    return safe.length > maxContent ? `${safe.slice(0, maxContent)}…` : safe
  }
}

function nameOf(activity: TracedActivity): string {
  switch (activity.type) {
    case 'step':
      return activity.step
    case 'model':
      return activity.model
    case 'tool':
      return activity.tool
    case 'call':
      return activity.agent
  }
}

/** Results of tools may be anything, also what JSON cannot express. */
function encode(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
