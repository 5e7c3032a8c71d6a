import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { BodyTooLarge } from '../../http/exchange.ts'
import { Exceeded } from './exceeded.ts'
import { after } from './limits.ts'

export interface AnswerBodyOptions {
  readonly maxBytes: number
  readonly idleTimeout: number
  /** Called once, when nothing of the answer is needed any more. */
  readonly release: () => void
  /** What to say instead of an error of the socket, if the caller has left. */
  readonly reason: (error: unknown) => unknown
}

/** The bytes of an answer, taken from the socket as they are asked for, and never more than may be. */
export function answerBody(answer: IncomingMessage, options: AnswerBodyOptions): ReadableStream<Uint8Array> {
  const { maxBytes, idleTimeout, release, reason } = options
  const source = unpacked(answer)
  const chunks: AsyncIterator<Buffer> = source[Symbol.asyncIterator]()
  let length = 0

  function end(): void {
    release()
    answer.destroy()
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const clear = after(idleTimeout, () => source.destroy(new Exceeded('body', idleTimeout)))
        try {
          const { done, value } = await chunks.next()
          if (done) {
            release()
            return controller.close()
          }
          length += value.length
          if (length > maxBytes) throw new BodyTooLarge(maxBytes)
          controller.enqueue(value)
        } catch (error) {
          controller.error(reason(error))
          end()
        } finally {
          clear()
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

/** Nobody is asked to pack answers, but some do it all the same; the limit is for what comes out. */
function unpacked(answer: IncomingMessage): Readable {
  const unpack = decoders[answer.headers['content-encoding']?.trim().toLowerCase() ?? '']?.()
  if (!unpack) return answer
  answer.once('error', (error) => unpack.destroy(error))
  answer.once('aborted', () => unpack.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })))
  return answer.pipe(unpack)
}

const decoders: Readonly<Record<string, () => ReturnType<typeof createGunzip>>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}
