import { constants, type ServerHttp2Stream } from 'node:http2'

/**
 * Writes all of a source as fast as the caller reads it, and releases it when the caller has gone, or takes nothing for
 * so many milliseconds. Gives what the source returns at its end.
 */
export async function writeAll<R>(
  stream: ServerHttp2Stream,
  source: AsyncIterator<string | Uint8Array, R>,
  unreadTimeout: number,
): Promise<R | undefined> {
  // Not awaited: a generator that waits for its next item takes its `return` only after that.
  const release = (): void => {
    source.return?.().catch(() => {})
  }
  stream.once('aborted', release)
  if (isOver(stream)) release()
  while (!isOver(stream)) {
    if (stream.writableNeedDrain) await drained(stream, unreadTimeout)
    const { done, value } = await source.next()
    if (done) return value
    if (!isOver(stream)) stream.write(value)
  }
  return undefined
}

function isOver(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.writableEnded
}

/** Resolves when there is room again, or nobody to have room for. */
function drained(stream: ServerHttp2Stream, timeout: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = (): void => stream.close(constants.NGHTTP2_CANCEL)
    const finish = (): void => {
      stream.setTimeout(0)
      stream.off('timeout', cancel)
      stream.off('drain', finish)
      stream.off('aborted', finish)
      resolve()
    }
    stream.setTimeout(timeout, cancel)
    stream.once('drain', finish)
    stream.once('aborted', finish)
  })
}

/** RFC 9113 §8.1: a caller that is answered before it has sent all is told that the rest is not needed. */
export function dismiss(stream: ServerHttp2Stream): void {
  // What has come already must be gone before the stream can close.
  if (!stream.readableEnded) stream.resume().close(constants.NGHTTP2_NO_ERROR)
}
