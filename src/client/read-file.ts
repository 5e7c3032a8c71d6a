import { BodyTooLarge } from '../http/exchange.ts'
import { readLimited } from '../http/read-limited.ts'
import { A2AError } from '../protocol/errors.ts'
import { isFileUrl } from './is-file.ts'

/**
 * A file of this machine. It is read by what Node, Deno and Bun have built in, which is asked for and not imported: in a
 * browser nobody answers, and bundles for browsers have nothing of it.
 */
export async function readFile(path: string | URL, limit: number): Promise<Uint8Array> {
  const files = typeof process === 'object' ? process.getBuiltinModule?.('node:fs') : undefined
  if (!files) throw unreadable(path, 'there are no files on this platform; hand in its content instead')
  try {
    return await readLimited(files.createReadStream(isFileUrl(path) ? new URL(path) : path), limit)
  } catch (error) {
    const isLong = error instanceof BodyTooLarge
    throw unreadable(path, isLong ? `it is longer than ${limit} bytes` : reasonOf(error), error)
  }
}

function unreadable(path: string | URL, why: string, cause?: unknown): A2AError {
  return new A2AError('invalid-params', `The file ${path} cannot be read: ${why}.`, { cause, reason: 'file' })
}

/** Without the path, which is in what Node says, too. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : `${error}`
  return text.replace(/^[A-Z]+: /, '').replace(/, \w+ '.*$/s, '')
}
