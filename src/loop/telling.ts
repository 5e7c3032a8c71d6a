import type { Voice } from '../agent/voice.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import type { Artifact, JsonObject } from '../protocol/model.ts'
import { progressNote } from '../protocol/progress.ts'
import { timestampNow } from '../protocol/timestamp.ts'

/** Tells the caller what there is beside the answer. Within a step of the journal it is told with the mark of the step. */
export interface Telling {
  progress(text: string, note: JsonObject, mark: string | undefined): void
  /** The nth that this call, or this step of the model, has brought. */
  artifact(of: string, n: number, given: Pick<Artifact, 'name' | 'parts'>, mark: string | undefined): void
}

/** What is brought is named after the answer, of which there is one. */
export function createTelling(
  voice: Voice,
  answerId: string,
  emit: (event: StatusEvent | ArtifactEvent) => void,
): Telling {
  return {
    progress(text, note, step) {
      const message = { ...voice.message(text), metadata: { [progressNote]: note } }
      const status = { state: 'working' as const, message, timestamp: timestampNow() }
      emit(step === undefined ? { type: 'status', status } : { type: 'status', status, step })
    },
    artifact(of, n, given, step) {
      const artifact = { ...given, artifactId: `${answerId}-${of}-${n}` }
      emit({ type: 'artifact', artifact, lastChunk: true, ...(step !== undefined && { step }) })
    },
  }
}
