import { answer, BodyTooLarge, type Exchange, type Incoming } from './exchange.ts'
import { readLimited } from './read-limited.ts'
import { securityHeaders } from './response-headers.ts'

export interface FetchOptions {
  /** The path under which the handler is mounted, without a slash at its end. */
  readonly base?: string
  /** Told what an exchange threw; the caller is not. */
  readonly onError?: (error: unknown) => void
}

/** Serves an exchange wherever `fetch` handlers run: Hono, Bun, Deno, Workers, and tests without a socket. */
export function toFetch(
  exchange: Exchange,
  { base = '', onError = console.error }: FetchOptions = {},
): (request: Request) => Promise<Response> {
  return async (request) => {
    // Not every host aborts `request.signal` when the caller leaves, but all of them cancel the body of the answer.
    const left = new AbortController()
    const incoming = createIncoming(request, base, AbortSignal.any([request.signal, left.signal]))
    const { status, headers: said, body } = await answer(exchange, incoming, onError)
    const headers = { ...securityHeaders, ...said }
    const hasBody = request.method !== 'HEAD'
    if (typeof body !== 'object') return new Response(hasBody ? body : null, { status, headers })
    const stream = toStream(body, {
      leave: () => left.abort(),
      fail: (error) => incoming.signal.aborted || onError(error),
    })
    if (!hasBody) stream.cancel().catch(onError)
    return new Response(hasBody ? stream : null, { status, headers })
  }
}

/** An answer that ends with trailers, which `fetch` itself does not give: what carries gRPC does. */
export type Trailed = Response & {
  /** Empty if there are none. It never rejects. */
  readonly trailers: Promise<Headers>
}

export function withTrailers(response: Response, trailers: Promise<Headers>): Trailed {
  return Object.assign(response, { trailers })
}

export async function trailersOf(response: Response): Promise<Headers> {
  return 'trailers' in response ? await (response as Trailed).trailers : new Headers()
}

/**
 * How this program asks others: as the global `fetch`, which it is by default. Credentials, guards and agents without
 * a socket are put in here.
 */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

function createIncoming(request: Request, base: string, signal: AbortSignal): Incoming {
  const url = new URL(request.url)
  return {
    method: request.method,
    path: isBelow(url.pathname, base) ? url.pathname.slice(base.length) || '/' : url.pathname,
    query: url.search.slice(1),
    base,
    secure: url.protocol === 'https:',
    header: (name) => request.headers.get(name) ?? (name === 'host' ? url.host : undefined),
    bytes: (limit) => readBody(request, limit),
    // `fetch` does not tell of connections.
    certificate: () => undefined,
    signal,
  }
}

/** Some routers, such as Hono's `mount`, have taken the base off already. */
function isBelow(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`)
}

async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length')) > limit) throw new BodyTooLarge(limit)
  return await readLimited(request.body, limit)
}

/** With a high-water mark of 0 nothing is taken from the source before somebody reads. */
function toStream(source: AsyncIterable<string>, { leave, fail }: StreamEnds): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next()
          if (done) controller.close()
          else controller.enqueue(encoder.encode(value))
        } catch (error) {
          fail(error)
          controller.error(new Error('the stream broke off'))
        }
      },
      async cancel() {
        leave()
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

interface StreamEnds {
  /** The reader has gone. */
  leave(): void
  /** The source threw. */
  fail(error: unknown): void
}
