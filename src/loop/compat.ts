import { Observable } from 'rxjs'
import { nextTurn } from '../core/base/clock.ts'
import { defined, isObject, type Json } from '../core/base/json.ts'
import { invalidParams } from '../core/protocol/errors.ts'
import type { ArtifactEvent } from '../core/protocol/events.ts'
import { type Artifact, type Part, type TaskStatus, textOf } from '../core/protocol/model.ts'
import { isEnded, isInterrupted } from '../core/protocol/states.ts'
import { isClosing, toClosingUpdate } from '../core/tasks/fold.ts'
import { type AgentLoopOptions, createAgentLoop, type AgentLoop as Loop } from './agent-loop.ts'
import type { LoopEvent } from './run-loop.ts'

/** A part as 0.3 messages have it, or as the rest of Parley does. */
export type CompatPart = Part | LegacyPart

type LegacyPart = {
  readonly kind: string
  readonly text?: string
  readonly data?: Json
  readonly file?: LegacyFile
}

interface LegacyFile {
  readonly name?: string
  readonly mimeType?: string
  readonly bytes?: string
  readonly uri?: string
}

/** An event of `AgentLoop.invoke`: a status, or a chunk of an artifact. */
export type CompatEvent =
  | {
      readonly type: 'status-update'
      readonly state: string
      /** The text of the status, if it has one. */
      readonly text: string
      readonly final: boolean
    }
  | {
      readonly type: 'artifact-chunk'
      readonly artifactId: string
      /** The text of the chunk. */
      readonly chunk: string
      readonly parts: readonly LegacyPart[]
      readonly append: boolean
      readonly lastChunk: boolean
    }

/** An artifact in the JSON of 0.3. */
export interface CompatArtifact extends Omit<Artifact, 'parts'> {
  readonly parts: readonly LegacyPart[]
}

export interface CompatInvocation {
  readonly taskId: string
  readonly contextId: string
}

/**
 * A loop for servers that write the events of A2A 0.3 themselves. `createAgentLoop` with `agent` and `serve` writes them
 * for you, in every version, and keeps the tasks.
 *
 * @example new AgentLoop({ model }).invoke(message.parts, { taskId, contextId }).subscribe({ next: send })
 */
export class AgentLoop {
  readonly #loop: Loop
  /** Tasks that were started in this turn of the event loop. */
  readonly #starting = new Set<string>()

  constructor(options: AgentLoopOptions) {
    this.#loop = createAgentLoop(options)
  }

  /** Completes when the task completes, without a status of its own for that. Fails if the task fails. */
  invoke(parts: readonly CompatPart[], invocation: CompatInvocation): Observable<CompatEvent> {
    const events = this.#loop.invoke(parts.map(toPart), invocation)
    return new Observable<CompatEvent>((subscriber) => {
      this.#markStarting(invocation.taskId)
      const next = (event: LoopEvent) => {
        if (event.type === 'artifact')
          return subscriber.next(toChunk(isClosing(event) ? toClosingUpdate(event) : event))
        const { state } = event.status
        if (state === 'failed' || state === 'rejected') subscriber.error(failureOf(event.status))
        else if (state !== 'completed') subscriber.next(toStatus(event.status))
      }
      return events.subscribe({
        next,
        complete: () => subscriber.complete(),
        error: (error: unknown) => subscriber.error(error),
      })
    })
  }

  /** Resolves with the artifacts when the task completes; rejects if it does not. */
  async invokeSync(
    parts: readonly CompatPart[],
    invocation: CompatInvocation,
  ): Promise<{ readonly artifacts: readonly CompatArtifact[] }> {
    const { status, artifacts } = await this.#loop.invokeSync(parts.map(toPart), invocation)
    if (status.state !== 'completed') throw failureOf(status)
    return { artifacts: artifacts.map((artifact) => ({ ...artifact, parts: artifact.parts.map(toLegacyPart) })) }
  }

  /**
   * Returns whether the task was running. A cancel in the turn of the event loop that started the task does nothing: Node
   * emits `close` of a request as soon as its body is read, and servers that listen to it then cancel each task at once.
   */
  cancel(taskId: string): boolean {
    return !this.#starting.has(taskId) && this.#loop.cancel(taskId)
  }

  #markStarting(taskId: string): void {
    this.#starting.add(taskId)
    void nextTurn().then(() => this.#starting.delete(taskId))
  }
}

function toStatus({ state, message }: TaskStatus): CompatEvent {
  const text = message ? textOf(message) : ''
  return { type: 'status-update', state, text, final: isEnded(state) || isInterrupted(state) }
}

function toChunk({ artifact, append = false, lastChunk = false }: ArtifactEvent): CompatEvent {
  const { artifactId, parts } = artifact
  const chunk = parts.map((part) => ('text' in part ? part.text : '')).join('')
  return { type: 'artifact-chunk', artifactId, chunk, parts: parts.map(toLegacyPart), append, lastChunk }
}

function failureOf({ state, message }: TaskStatus): Error {
  return new Error((message && textOf(message)) || `The task ended as ${state}.`)
}

function toPart(part: CompatPart, index: number): Part {
  if (!('kind' in part)) return part
  const { text, data, file } = part as LegacyPart
  if (part.kind === 'text' && typeof text === 'string') return { text }
  if (part.kind === 'data' && data !== undefined) return { data, mediaType: 'application/json' }
  if (part.kind === 'file' && isObject(file)) {
    const { name: filename, mimeType: mediaType, bytes, uri } = file as LegacyFile
    const members = defined({ filename, mediaType })
    if (typeof bytes === 'string') return { raw: bytes, ...members }
    if (typeof uri === 'string') return { url: uri, ...members }
  }
  throw invalidParams(`parts[${index}]`, `expected a part of the kind text, file or data, got ${part.kind}`)
}

function toLegacyPart(part: Part): LegacyPart {
  if ('text' in part) return { kind: 'text', text: part.text }
  if ('data' in part) return { kind: 'data', data: part.data }
  const { filename: name, mediaType: mimeType } = part
  const content = 'raw' in part ? { bytes: part.raw } : { uri: part.url }
  return {
    kind: 'file',
    file: { ...defined({ name, mimeType }), ...content },
  }
}
