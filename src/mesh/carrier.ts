import { defined, isObject } from '../core/base/json.ts'
import { type Trace, traceHeaders } from '../core/base/trace-context.ts'
import { BodyTooLarge } from '../core/http/exchange.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { readLimited } from '../core/http/read-limited.ts'
import type { MeshEnvelope } from './envelope.ts'
import { defaultMaxBytes, type ReadEnvelope } from './envelope-codec.ts'
import { MeshError } from './errors.ts'

export interface HttpCarrierOptions {
  readonly endpoint: string
  readonly read: ReadEnvelope
  /** Pass a guarded fetch if the endpoint comes from another party. */
  readonly fetch?: Fetch
  /** Sends the requests if there is no `fetch`. Defaults to the global `fetch`. */
  readonly createPost?: CreatePost | undefined
  readonly maxBytes?: number
}

/** Prepares requests to one endpoint. Throws nothing: an endpoint that cannot be used fails when it is called. */
export type CreatePost = (endpoint: string) => Post

/** Sends one `POST` and reads its response. Follows no redirects; throws `BodyTooLarge` beyond `maxBytes`. */
export type Post = (request: PostRequest) => Promise<PostResponse>

export interface PostRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
  readonly maxBytes: number
}

export interface PostResponse {
  readonly status: number
  readonly bytes: Uint8Array
}

export interface OutgoingEnvelope {
  readonly messageId: string
  readonly text: string
  /** Sent beside the envelope, which has no field for it. */
  readonly trace?: Trace | undefined
  /** Whether the peer reads a trace in front of an envelope in the same WebSocket frame. */
  readonly supportsTraceFrames?: boolean
}

/** Carries envelopes to one peer. */
export interface Carrier {
  /** Sends an envelope and returns the answer. */
  exchange(envelope: OutgoingEnvelope, signal: AbortSignal): Promise<MeshEnvelope>
  /** Sends an envelope that has no answer, such as a goodbye. */
  send(text: string, signal: AbortSignal): Promise<void>
  close(): void
}

/** Sends each envelope as an HTTP `POST`. */
export function createHttpCarrier(options: HttpCarrierOptions): Carrier {
  const { endpoint, read, fetch, createPost, maxBytes = defaultMaxBytes } = options
  const send = createPost && !fetch ? createPost(endpoint) : postByFetch(endpoint, fetch)

  async function post(text: string, signal: AbortSignal, trace?: Trace): Promise<PostResponse> {
    const headers = { 'content-type': 'application/json', accept: 'application/json', ...traceHeaders(trace) }
    try {
      return await send({ headers, body: text, signal, maxBytes })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof BodyTooLarge)
        throw unavailable(`The answer of ${endpoint} is longer than ${maxBytes} bytes.`, error)
      throw unavailable(`${endpoint} cannot be reached.`, error)
    }
  }

  return {
    async exchange({ text, trace }, signal) {
      const { status, bytes } = await post(text, signal, trace)
      const result = read(bytes)
      if (result.envelope) return result.envelope
      throw (
        decodePlainError(bytes) ??
        unavailable(`${endpoint} answered ${status}, and not with an envelope.`, result.error)
      )
    },
    async send(text, signal) {
      const { status, bytes } = await post(text, signal)
      if (status >= 400) throw decodePlainError(bytes) ?? unavailable(`${endpoint} answered ${status}.`)
    },
    close() {},
  }
}

function postByFetch(endpoint: string, fetch: Fetch = globalThis.fetch): Post {
  return async ({ maxBytes, ...init }) => {
    const response = await fetch(endpoint, { method: 'POST', ...init, redirect: 'error' })
    return { status: response.status, bytes: await readLimited(response.body, maxBytes) }
  }
}

export function unavailable(message: string, cause?: unknown): MeshError {
  return new MeshError('SERVICE_UNAVAILABLE', message, { cause })
}

function decodePlainError(bytes: Uint8Array): MeshError | undefined {
  try {
    return readPlainError(JSON.parse(new TextDecoder().decode(bytes)))
  } catch {
    return undefined
  }
}

/** An unsigned error outside an envelope, from a peer that could not address one. */
function readPlainError(body: unknown): MeshError | undefined {
  const error = isObject(body) && isObject(body.error) ? body.error : undefined
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return undefined
  return new MeshError(
    error.code.slice(0, 128),
    error.message.slice(0, 500),
    defined({
      retryAfter: typeof error.retry_after === 'number' ? error.retry_after : undefined,
      documentationUrl:
        typeof error.documentation_url === 'string' ? error.documentation_url.slice(0, 2048) : undefined,
    }),
  )
}
