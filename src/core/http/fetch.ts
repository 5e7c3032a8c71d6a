import {
  BodyConsumed,
  BodyTooLarge,
  type Exchange,
  type Incoming,
  isComplete,
  runExchange,
  securityHeaders,
} from './exchange.ts'
import { readLimited } from './read-limited.ts'

export interface FetchOptions {
  /** The path at which the handler is mounted, without a trailing slash. */
  readonly base?: string
  /** Receives errors that an exchange throws; the caller never sees them. */
  readonly onError?: (error: unknown) => void
}

/** Serves an exchange wherever `fetch` handlers run: Hono, Bun, Deno, Workers, and tests without a socket. */
export function toFetch(exchange: Exchange, options: FetchOptions = {}): (request: Request) => Promise<Response> {
  return (request) => answerRequest(exchange, request, options)
}

export interface AnswerOptions extends FetchOptions {
  /** Reads the body where a framework has read it already. */
  readonly readConsumed?: () => Promise<ArrayBuffer>
}

/** Serves one request. Unlike `toFetch`, it takes what a framework knows about this request. */
export async function answerRequest(
  exchange: Exchange,
  request: Request,
  { base = '', onError = console.error, readConsumed }: AnswerOptions = {},
): Promise<Response> {
  // Not every platform aborts `request.signal` when the caller disconnects, but all of them cancel the response body.
  const disconnected = new AbortController()
  const signal = AbortSignal.any([request.signal, disconnected.signal])
  const incoming = createIncoming(request, { base, signal, readConsumed })
  const { status, headers: ownHeaders, body } = await runExchange(exchange, incoming, onError)
  const headers = { ...securityHeaders, ...ownHeaders }
  const hasBody = request.method !== 'HEAD'
  if (body === undefined || isComplete(body)) {
    const text = typeof body === 'object' ? body.join('') : body
    return new Response(hasBody ? text : null, { status, headers })
  }
  const stream = toStream(body, {
    onCancel: () => disconnected.abort(),
    onError: (error) => incoming.signal.aborted || onError(error),
  })
  if (!hasBody) stream.cancel().catch(onError)
  return new Response(hasBody ? stream : null, { status, headers })
}

/** Whether a path is a mount or below it. */
export function isBelow(path: string, mount: string): boolean {
  return path === mount || path.startsWith(`${mount}/`)
}

/** A response with trailers, which `fetch` does not expose but gRPC needs. */
export type ResponseWithTrailers = Response & {
  /** Empty if there are none. Never rejects. */
  readonly trailers: Promise<Headers>
}

export function withTrailers(response: Response, trailers: Promise<Headers>): ResponseWithTrailers {
  return Object.assign(response, { trailers })
}

export async function trailersOf(response: Response): Promise<Headers> {
  return 'trailers' in response ? await (response as ResponseWithTrailers).trailers : new Headers()
}

/** Sends requests like the global `fetch`. Credentials, address guards and in-process agents plug in here. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

interface RequestContext extends Pick<AnswerOptions, 'readConsumed'> {
  readonly base: string
  readonly signal: AbortSignal
}

/** A request of `fetch` as an exchange sees it. */
export function createIncoming(request: Request, { base, signal, readConsumed }: RequestContext): Incoming {
  const url = new URL(request.url)
  return {
    method: request.method,
    // Some routers, such as Hono's `mount`, have already removed the base.
    path: isBelow(url.pathname, base) ? url.pathname.slice(base.length) || '/' : url.pathname,
    query: url.search.slice(1),
    base,
    secure: url.protocol === 'https:',
    header: (name) => request.headers.get(name) ?? (name === 'host' ? url.host : undefined),
    bytes: (limit) => readBody(request, limit, readConsumed),
    // `fetch` does not expose the connection.
    certificate: () => undefined,
    signal,
  }
}

async function readBody(
  request: Request,
  limit: number,
  readConsumed?: () => Promise<ArrayBuffer>,
): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length')) > limit) throw new BodyTooLarge(limit)
  if (!request.bodyUsed) return await readLimited(request.body, limit)
  const bytes = await readConsumed?.().catch((cause) => {
    throw new BodyConsumed({ cause })
  })
  if (!bytes) throw new BodyConsumed()
  if (bytes.byteLength > limit) throw new BodyTooLarge(limit)
  return new Uint8Array(bytes)
}

/** With a high-water mark of 0, nothing is pulled from the source before the caller reads. */
function toStream(
  source: AsyncIterable<string | Uint8Array>,
  { onCancel, onError }: StreamCallbacks,
): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next()
          if (done) controller.close()
          else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
        } catch (error) {
          onError(error)
          controller.error(new Error('the stream broke off'))
        }
      },
      async cancel() {
        onCancel()
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

interface StreamCallbacks {
  /** The reader canceled. */
  onCancel(): void
  /** The source threw. */
  onError(error: unknown): void
}
