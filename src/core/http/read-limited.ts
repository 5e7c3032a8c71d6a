import { BodyTooLarge } from './exchange.ts'

/** Reads a body; throws `BodyTooLarge` and stops reading as soon as it exceeds `limit`. */
export async function readLimited(
  body: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null,
  limit: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body instanceof ReadableStream ? read(body) : (body ?? [])) {
    length += chunk.length
    if (length > limit) throw new BodyTooLarge(limit)
    chunks.push(chunk)
  }
  return concat(chunks, length)
}

/** Not every browser supports iteration over streams. */
async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    // Canceling a broken stream rejects.
    reader.cancel().catch(() => {})
  }
}

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
