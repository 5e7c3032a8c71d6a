import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2'
import type { Fetch } from '../../http/outbound.ts'
import { type Trailed, withTrailers } from '../../http/trailers.ts'
import type { Sessions } from './sessions.ts'

/** A `fetch` over HTTP/2 whose answers have trailers. It is for gRPC: bodies are bytes, and nothing is redirected. */
export function createHttp2Fetch(sessions: Sessions, check: (url: URL) => void): Fetch {
  return async (address, init) => {
    const url = new URL(address)
    check(url)
    init.signal?.throwIfAborted()
    const stream = begin(sessions, url, init)
    stream.end(init.body)
    return await answerOf(stream, init.signal ?? never)
  }
}

const never = new AbortController().signal

function begin(sessions: Sessions, url: URL, { method = 'POST', headers }: RequestInit): ClientHttp2Stream {
  const { session, done } = sessions.take(url.origin)
  try {
    const path = `${url.pathname}${url.search}`
    const stream = session.request({ ':method': method, ':path': path, ...Object.fromEntries(new Headers(headers)) })
    return stream.once('close', done)
  } catch (error) {
    done()
    throw error
  }
}

function answerOf(stream: ClientHttp2Stream, signal: AbortSignal): Promise<Trailed> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      reject(signal.reason)
      cancel(stream)
    }
    signal.addEventListener('abort', leave)
    const { promise: trailers, resolve: end } = Promise.withResolvers<Headers>()
    stream.once('trailers', (told) => end(headersOf(told)))
    stream.once('response', (told) => resolve(withTrailers(responseOf(stream, told, signal), trailers)))
    stream.on('error', reject)
    stream.once('close', () => {
      signal.removeEventListener('abort', leave)
      end(new Headers())
      reject(lost())
    })
  })
}

function responseOf(
  stream: ClientHttp2Stream,
  told: IncomingHttpHeaders & IncomingHttpStatusHeader,
  signal: AbortSignal,
): Response {
  const headers = headersOf(told)
  // Whoever gives credentials is asked for others by 401; gRPC has a status of its own for it.
  const status = headers.get('grpc-status') === unauthenticated ? 401 : (told[':status'] ?? 500)
  return new Response(bodyless.has(status) ? null : bodyOf(stream, signal), { status, headers })
}

const unauthenticated = '16'
const bodyless: ReadonlySet<number> = new Set([204, 205, 304])

function headersOf(told: IncomingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(told)) {
    if (name.startsWith(':') || value === undefined) continue
    for (const each of [value].flat()) headers.append(name, `${each}`)
  }
  return headers
}

/** Read as fast as it is pulled: a slow reader slows only its own call. */
function bodyOf(stream: ClientHttp2Stream, signal: AbortSignal): ReadableStream<Uint8Array> {
  let isOver = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const finish = (act: () => void) => {
          if (!isOver) act()
          isOver = true
          signal.removeEventListener('abort', leave)
        }
        const leave = () => finish(() => controller.error(signal.reason))
        const breakOff = (error: unknown = lost()) => finish(() => controller.error(error))
        signal.addEventListener('abort', leave)
        stream.on('data', (chunk: Uint8Array) => {
          if (isOver) return
          controller.enqueue(chunk)
          stream.pause()
        })
        stream.pause()
        stream.once('error', breakOff)
        // It ends then, too, as if it were whole.
        stream.once('aborted', () => breakOff())
        stream.once('end', () => finish(() => controller.close()))
        stream.once('close', () => breakOff())
      },
      pull() {
        stream.resume()
      },
      cancel() {
        isOver = true
        cancel(stream)
      },
    },
    { highWaterMark: 0 },
  )
}

/** What has come already must be gone before a stream can close. */
function cancel(stream: ClientHttp2Stream): void {
  stream.resume().close(constants.NGHTTP2_CANCEL)
}

function lost(): Error {
  return Object.assign(new Error('the call was cut off'), { code: 'ECONNRESET' })
}
