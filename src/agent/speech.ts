import { toBase64 } from '../protocol/base64.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import type { Json, JsonObject, Part, TaskState } from '../protocol/model.ts'
import { type ArtifactWriter, createArtifactWriter } from './artifact-writer.ts'
import type { Content } from './content.ts'
import type { Voice } from './voice.ts'

/** What an agent can say of its work. The promises resolve when it is stored. */
export interface Speech {
  status(state: TaskState, content?: Content): Promise<void>
  artifact(name: string, options?: ArtifactOptions): ArtifactWriter
  /** Adds a whole artifact that is one JSON value. */
  data(value: Json, name?: string): Promise<void>
  /** Adds a whole artifact that is one file. */
  file(file: File): Promise<void>
}

export interface ArtifactOptions {
  readonly description?: string
  readonly mediaType?: string
  readonly metadata?: JsonObject
}

export interface File {
  readonly name: string
  readonly mediaType?: string
  readonly content: Uint8Array | string | URL
}

/** By which it is said. */
export interface Mouth {
  /** Resolves when the event is stored. */
  readonly emit: (event: StatusEvent | ArtifactEvent) => Promise<void>
  readonly newArtifactId: () => string
}

export function createSpeech(voice: Voice, { emit, newArtifactId }: Mouth): Speech {
  function artifact(name: string, { mediaType, ...options }: ArtifactOptions = {}): ArtifactWriter {
    return createArtifactWriter({ artifact: { artifactId: newArtifactId(), name, ...options }, mediaType, emit })
  }

  return {
    status: (state, content) => emit(voice.status(state, content)),
    artifact,
    // A copy: what is stored does not change when the agent goes on working with its value.
    data: (value, name = 'data') =>
      artifact(name).close({ data: structuredClone(value), mediaType: 'application/json' }),
    file: (file) => artifact(file.name).close(filePart(file)),
  }
}

function filePart({ name, mediaType, content }: File): Part {
  const about = { filename: name, ...(mediaType !== undefined && { mediaType }) }
  if (content instanceof URL) return { url: content.href, ...about }
  return { raw: toBase64(typeof content === 'string' ? new TextEncoder().encode(content) : content), ...about }
}
