import { toBase64 } from '../protocol/base64.ts'
import type { ArtifactEvent } from '../protocol/events.ts'
import type { Artifact, Part } from '../protocol/model.ts'
import { type Content, toParts } from './content.ts'
import { refused } from './refused.ts'

/** A piece of an artifact. Bytes become a raw part. */
export type Chunk = Content | Uint8Array

/** Writes one artifact piece by piece. It alone knows which piece is the first and which the last. */
export interface ArtifactWriter {
  readonly artifactId: string
  /** Resolves when the chunk is stored: awaiting it slows the agent down to the speed of the store. */
  write(chunk: Chunk): Promise<void>
  /** Marks the artifact as complete, with a last chunk if one is given. */
  close(chunk?: Chunk): Promise<void>
}

export interface ArtifactWriterOptions {
  readonly artifact: Omit<Artifact, 'parts'>
  readonly mediaType?: string
  readonly emit: (event: ArtifactEvent) => Promise<void>
}

export function createArtifactWriter({ artifact, mediaType, emit }: ArtifactWriterOptions): ArtifactWriter {
  const { artifactId } = artifact
  let begun = false
  let closed = false

  function send(parts: readonly Part[], lastChunk: boolean): Promise<void> {
    if (closed) return refused(`The artifact ${artifact.name ?? artifactId} is closed already.`)
    // Name and description go with the first chunk only: readers keep them.
    const event: ArtifactEvent = begun
      ? { type: 'artifact', artifact: { artifactId, parts }, append: true, lastChunk }
      : { type: 'artifact', artifact: { ...artifact, parts }, lastChunk }
    begun = true
    closed = lastChunk
    return emit(event)
  }

  return {
    artifactId,
    write: (chunk) => send(chunkParts(chunk, mediaType), false),
    // An artifact event must carry a part; an empty text closes without adding content.
    close: (chunk) => send(chunk === undefined ? [{ text: '' }] : chunkParts(chunk, mediaType), true),
  }
}

function chunkParts(chunk: Chunk, mediaType: string | undefined): readonly Part[] {
  const parts = chunk instanceof Uint8Array ? [{ raw: toBase64(chunk) }] : toParts(chunk)
  return mediaType ? parts.map((part) => ({ mediaType, ...part })) : parts
}
