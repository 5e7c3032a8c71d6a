import type { AgentEvents } from '../agent/turn-output.ts'
import type { JsonObject } from '../base/json.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import { type Artifact, toTimestamp } from '../protocol/model.ts'

/** What the model says, as chunks of one artifact. */
export interface Response {
  readonly artifactId: string
  readonly hasText: boolean
  /** What was said and told before a restart. */
  recall(text: string): void
  write(delta: string, step: string | undefined): void
  close(): void
}

/**
 * The first chunk of a process takes the place of what an earlier one has told, of which the end may be half a step: it
 * begins with all that is known to be said.
 */
export function createResponse(artifactId: string, emit: (event: ArtifactEvent) => void): Response {
  let before = ''
  let isBegun = false
  let hasText = false

  return {
    artifactId,
    get hasText() {
      return hasText
    },
    recall(text) {
      if (text === '') return
      before += text
      hasText = true
    },
    write(delta, step) {
      const parts = [{ text: isBegun ? delta : before + delta }]
      const event: ArtifactEvent = isBegun
        ? { type: 'artifact', artifact: { artifactId, parts }, append: true, lastChunk: false }
        : { type: 'artifact', artifact: { artifactId, name: 'response', parts }, lastChunk: false }
      isBegun = true
      hasText = true
      emit(step === undefined ? event : { ...event, step })
    },
    close() {
      if (!hasText) return
      // An event must carry a part; an empty text closes without adding content.
      emit({ type: 'artifact', artifact: { artifactId, parts: [{ text: '' }] }, append: true, lastChunk: true })
    },
  }
}

/** Tells the caller what there is beside the answer. Within a step of the journal it is told with the mark of the step. */
export interface LoopOutput {
  progress(text: string, note: JsonObject, mark: string | undefined): void
  /** The nth that this call, or this step of the model, has brought. */
  artifact(of: string, n: number, given: Pick<Artifact, 'name' | 'parts'>, mark: string | undefined): void
}

/** What is brought is named after the answer, of which there is one. */
export function createTelling(
  voice: AgentEvents,
  answerId: string,
  emit: (event: StatusEvent | ArtifactEvent) => void,
): LoopOutput {
  return {
    progress(text, note, step) {
      const message = { ...voice.message(text), metadata: { [progressNote]: note } }
      const status = { state: 'working' as const, message, timestamp: toTimestamp() }
      emit(step === undefined ? { type: 'status', status } : { type: 'status', status, step })
    },
    artifact(of, n, given, step) {
      const artifact = { ...given, artifactId: `${answerId}-${of}-${n}` }
      emit({ type: 'artifact', artifact, lastChunk: true, ...(step !== undefined && { step }) })
    },
  }
}

/**
 * The name under which the message of a status says, in its metadata, that it only tells how far the agent is: `type` is
 * `reasoning` or `tool`, with `tool` and `toolCallId`. Models are not told it as something that was said.
 */
export const progressNote = 'https://parley.dev/ext/progress/v1'
