import { map, Observable } from 'rxjs'
import { isObject, type Json } from '../base/json.ts'
import { invalidParams } from '../protocol/errors.ts'
import { type Artifact, type Part, textOf } from '../protocol/model.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'
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
      readonly parts: readonly Part[]
      readonly append: boolean
      readonly lastChunk: boolean
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

  constructor(options: AgentLoopOptions) {
    this.#loop = createAgentLoop(options)
  }

  invoke(parts: readonly CompatPart[], invocation: CompatInvocation): Observable<CompatEvent> {
    const events = this.#loop.invoke(parts.map(toPart), invocation)
    return new Observable<LoopEvent>((subscriber) => events.subscribe(subscriber)).pipe(map(toEvent))
  }

  /** Resolves with the artifacts when the task completes; rejects if it does not. */
  async invokeSync(
    parts: readonly CompatPart[],
    invocation: CompatInvocation,
  ): Promise<{ readonly artifacts: readonly Artifact[] }> {
    const { status, artifacts } = await this.#loop.invokeSync(parts.map(toPart), invocation)
    if (status.state === 'completed') return { artifacts }
    const text = status.message ? textOf(status.message) : ''
    throw new Error(text || `The task ended as ${status.state}.`)
  }

  /** Returns whether the task was running. */
  cancel(taskId: string): boolean {
    return this.#loop.cancel(taskId)
  }
}

function toEvent(event: LoopEvent): CompatEvent {
  if (event.type === 'status') {
    const { state, message } = event.status
    return {
      type: 'status-update',
      state,
      text: message ? textOf(message) : '',
      final: isEnded(state) || isInterrupted(state),
    }
  }
  const { artifact, append = false, lastChunk = false } = event
  const { artifactId, parts } = artifact
  const chunk = parts.map((part) => ('text' in part ? part.text : '')).join('')
  return { type: 'artifact-chunk', artifactId, chunk, parts, append, lastChunk }
}

function toPart(part: CompatPart, index: number): Part {
  if (!('kind' in part)) return part
  const { text, data, file } = part as LegacyPart
  if (part.kind === 'text' && typeof text === 'string') return { text }
  if (part.kind === 'data' && data !== undefined) return { data, mediaType: 'application/json' }
  if (part.kind === 'file' && isObject(file)) {
    const { name: filename, mimeType: mediaType, bytes, uri } = file as LegacyFile
    const members = { ...(filename !== undefined && { filename }), ...(mediaType !== undefined && { mediaType }) }
    if (typeof bytes === 'string') return { raw: bytes, ...members }
    if (typeof uri === 'string') return { url: uri, ...members }
  }
  throw invalidParams(`parts[${index}]`, `expected a part of the kind text, file or data, got ${part.kind}`)
}
