import { StatusError } from './status.ts'

/** How compressions are called in gRPC; in answers nothing is compressed. */
const formats: ReadonlyMap<string, CompressionFormat> = new Map([
  ['gzip', 'gzip'],
  ['deflate', 'deflate'],
])

export const acceptedEncodings = ['identity', ...formats.keys()].join(',')

/** Refuses a call whose messages could not be read, before they are. */
export function requireEncoding(encoding = 'identity'): void {
  if (encoding === 'identity' || formats.has(encoding)) return
  throw new StatusError(
    'UNIMPLEMENTED',
    `Messages compressed with ${encoding} cannot be read, but ${acceptedEncodings}.`,
  )
}

/** A small message may unfold into a giant one, so it is measured on the way. */
export async function inflate(message: Uint8Array, encoding: string | undefined, limit: number): Promise<Uint8Array> {
  const format = formats.get(encoding ?? 'identity')
  if (format === undefined) {
    throw new StatusError('INTERNAL', 'The message is marked as compressed, but grpc-encoding does not tell how.')
  }
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  try {
    const inflated = new Blob([new Uint8Array(message)]).stream().pipeThrough(new DecompressionStream(format))
    for await (const chunk of inflated) {
      length += chunk.length
      if (length > limit) break
      chunks.push(chunk)
    }
  } catch (error) {
    throw new StatusError('INTERNAL', `The message is not valid ${format}.`, { cause: error })
  }
  if (length > limit) throw new StatusError('RESOURCE_EXHAUSTED', `The message unfolds into more than ${limit} bytes.`)
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}
