import type { ArtifactEvent } from '../protocol/events.ts'

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
