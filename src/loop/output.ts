import type { AgentEvents } from '../core/agent/content.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import type { ArtifactEvent, StatusEvent } from '../core/protocol/events.ts'
import { progressKey } from '../core/protocol/extensions/progress.ts'
import { type Artifact, type Part, toTimestamp } from '../core/protocol/model.ts'

/** Emits the model's text as chunks of one artifact. */
export interface ResponseArtifact {
  readonly artifactId: string
  readonly hasText: boolean
  /** Adds text that an earlier process emitted. */
  restore(text: string): void
  write(delta: string, step: string | undefined): void
  close(): void
}

/**
 * The first chunk of a process replaces the artifact of an earlier one, which may end within an incomplete step: it starts
 * with the restored text.
 */
export function createResponseArtifact(artifactId: string, emit: (event: ArtifactEvent) => void): ResponseArtifact {
  let restored = ''
  let isStarted = false
  let hasText = false

  return {
    artifactId,
    get hasText() {
      return hasText
    },
    restore(text) {
      if (text === '') return
      restored += text
      hasText = true
    },
    write(delta, step) {
      if (delta === '') return
      const parts = [{ text: isStarted ? delta : restored + delta }]
      const event: ArtifactEvent = isStarted
        ? { type: 'artifact', artifact: { artifactId, parts }, append: true, lastChunk: false }
        : { type: 'artifact', artifact: { artifactId, name: 'response', parts }, append: false, lastChunk: false }
      isStarted = true
      hasText = true
      emit(step === undefined ? event : { ...event, step })
    },
    close() {
      if (!hasText) return
      emit({ type: 'artifact', artifact: { artifactId, parts: [] }, append: true, lastChunk: true })
    },
  }
}

/** Emits progress and artifacts other than the response. Events of a journal step carry its mark. */
export interface LoopOutput {
  progress(content: string | readonly Part[], details: JsonObject, mark: string | undefined): void
  /** `source` is the tool call or model step that produced the artifact, `number` counts its artifacts. */
  artifact(source: string, number: number, artifact: Pick<Artifact, 'name' | 'parts'>, mark: string | undefined): void
}

/** Derives artifact ids from the id of the response, which is unique. */
export function createLoopOutput(
  agentEvents: AgentEvents,
  responseId: string,
  emit: (event: StatusEvent | ArtifactEvent) => void,
): LoopOutput {
  return {
    progress(content, details, step) {
      const fields = typeof content === 'string' ? content : { parts: content }
      const message = { ...agentEvents.message(fields), metadata: { [progressKey]: details } }
      const status = { state: 'working' as const, message, timestamp: toTimestamp() }
      emit(step === undefined ? { type: 'status', status } : { type: 'status', status, step })
    },
    artifact(source, number, content, step) {
      const artifact = { ...content, artifactId: `${responseId}-${source}-${number}` }
      emit(defined({ type: 'artifact', artifact, append: false, lastChunk: true, step }))
    },
  }
}
