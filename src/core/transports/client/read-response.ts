import type { Clock } from '../../base/clock.ts'
import { decodeUtf8, JsonError, parseJsonText } from '../../http/json.ts'
import { readLimited } from '../../http/read-limited.ts'
import { parseRetryAfter } from '../../http/response-headers.ts'
import { readEvents } from '../../http/sse-reader.ts'
import { A2AError } from '../../protocol/errors.ts'

/** A response that is not a stream, read to its end. */
export interface ResponseContent {
  readonly status: number
  readonly headers: Headers
  /** The URL of the response, after redirects. */
  readonly url: string
  readonly wasRedirected: boolean
  readonly form: 'json' | 'empty' | 'other'
  /** The parsed body if `form` is `json`. */
  readonly body: unknown
  /** The first bytes of the body. */
  readonly start: Uint8Array
}

/** An unexpected response, as the errors of the client describe it and have it as their cause. */
export interface ResponseSummary {
  readonly status: number
  readonly url: string
  readonly wasRedirected: boolean
  /** The form that the response claims, or appears, to have. */
  readonly form: 'json' | 'empty' | 'html' | 'text'
  readonly body: unknown
  /** The start of the body as one line of text. */
  readonly excerpt: string
  /** The `WWW-Authenticate` header. */
  readonly challenge?: string
  /** Seconds. */
  readonly retryAfter?: number
}

export function summarize({ headers, start, form, ...content }: ResponseContent): ResponseSummary {
  const excerpt = new TextDecoder().decode(start).replace(/\s+/g, ' ').trim()
  const isHtml = headers.get('content-type')?.includes('html') || /^<(!doctype|html|head|body)/i.test(excerpt)
  const retryAfter = parseRetryAfter(headers.get('retry-after'), Date.now())
  return {
    ...content,
    form: form !== 'other' ? form : isHtml ? 'html' : 'text',
    excerpt,
    challenge: headers.get('www-authenticate') ?? undefined,
    retryAfter: retryAfter === undefined ? undefined : retryAfter / 1000,
  }
}

export interface ReadResponseOptions {
  /** The URL of the request. */
  readonly url: string
  readonly answerLimit: number
  readonly jsonDepth: number
}

/** Reads a response whatever its status and media type are: agents report errors in many ways. */
export async function readResponse(response: Response, options: ReadResponseOptions): Promise<ResponseContent> {
  const { status, redirected, headers } = response
  const bytes = await readLimited(response.body, options.answerLimit)
  const facts = {
    status,
    headers,
    // Without the query, which may contain credentials.
    url: redirected ? response.url.replace(/[?#].*$/s, '') : options.url,
    wasRedirected: redirected,
    start: bytes.slice(0, 300),
  }
  try {
    const text = decodeUtf8(bytes)
    if (!/\S/.test(text)) return { ...facts, form: 'empty', body: undefined }
    return { ...facts, form: 'json', body: parseJsonText(text, { depth: options.jsonDepth }) }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { ...facts, form: 'other', body: undefined }
  }
}

export interface ReadStreamOptions extends ReadResponseOptions {
  readonly eventLimit: number
  readonly idle: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** A stream event before its dialect decodes it. */
export interface RawEvent {
  readonly id: string | undefined
  readonly follows?: string | undefined
  readonly data: unknown
  /** Whether its `event` field is `error`. */
  readonly isError: boolean
}

/** The response to a call for a stream: a stream, or a single response whatever its media type. */
export type StreamResponse =
  | { readonly events: AsyncGenerator<RawEvent>; readonly content?: undefined }
  | { readonly events?: undefined; readonly content: ResponseContent }

export async function readStreamResponse(response: Response, options: ReadStreamOptions): Promise<StreamResponse> {
  const type = response.headers.get('content-type')?.toLowerCase() ?? ''
  const { body } = response
  if (!body || !response.ok || /json|html/.test(type)) return { content: await readResponse(response, options) }
  if (type.includes('event-stream')) return { events: rawEvents(body, options) }
  // Some servers and proxies leave out the media type of a stream.
  const { isStream, body: copy } = await sniffStream(body)
  if (isStream) return { events: rawEvents(copy, options) }
  return { content: await readResponse(new Response(copy, response), options) }
}

/** Looks at the first bytes of a body of unknown type: a stream never begins like JSON or a page. */
async function sniffStream(body: ReadableStream<Uint8Array>) {
  const [copy, rest] = body.tee()
  const reader = copy.getReader()
  const { value } = await reader.read()
  reader.cancel().catch(() => {})
  return { body: rest, isStream: !/^\s*[{[<]/.test(new TextDecoder().decode(value?.subarray(0, 64))) }
}

async function* rawEvents(body: ReadableStream<Uint8Array>, options: ReadStreamOptions): AsyncGenerator<RawEvent> {
  const { eventLimit: limit, jsonDepth, idle, signal, url, clock: timers } = options
  for await (const { id, follows, event, data, isCut } of readEvents(body, { limit, idle, signal, timers })) {
    // Some servers keep the stream open with empty events.
    if (data.trim() === '') continue
    yield { id, follows, data: parseEvent(data, isCut === true, url, jsonDepth), isError: event === 'error' }
  }
}

function parseEvent(data: string, isCut: boolean, url: string, depth: number): unknown {
  try {
    return parseJsonText(data, { depth })
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (isCut) {
      const problem = `The stream of ${url} broke off in the middle of an event.`
      throw new A2AError('unavailable', problem, { cause: error, url, reason: 'connection-lost' })
    }
    const problem = `The stream of ${url} has an event that is not JSON: ${error.message}.`
    throw new A2AError('invalid-agent-response', problem, { cause: error, url, reason: 'broken-event' })
  }
}
