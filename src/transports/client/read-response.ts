import type { Clock } from '../../base/clock.ts'
import { decodeUtf8, JsonError, parseJsonText } from '../../http/json.ts'
import { readLimited } from '../../http/read-limited.ts'
import { parseRetryAfter } from '../../http/response-headers.ts'
import { readEvents } from '../../http/sse-reader.ts'
import { A2AError } from '../../protocol/errors.ts'

/** An answer that is no stream, whatever it is. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Where it came from in the end. */
  readonly url: string
  readonly wasRedirected: boolean
  readonly form: 'json' | 'empty' | 'other'
  /** Of the form `json`. */
  readonly body: unknown
  /** How it begins. */
  readonly start: Uint8Array
}

/** What there is to say of an answer that is not what was asked for. It is also what errors have as their cause. */
export interface ResponseSummary {
  readonly status: number
  readonly url: string
  readonly wasRedirected: boolean
  /** What it claims, or looks, to be. */
  readonly form: 'json' | 'empty' | 'html' | 'text'
  readonly body: unknown
  /** How it begins, to be shown. */
  readonly excerpt: string
  /** The `WWW-Authenticate` of a refusal. */
  readonly challenge?: string
  readonly retryAfter?: number
}

export function tellAnswer({ headers, start, form, ...answer }: Answer): ResponseSummary {
  const excerpt = new TextDecoder().decode(start).replace(/\s+/g, ' ').trim()
  const isHtml = headers.get('content-type')?.includes('html') || /^<(!doctype|html|head|body)/i.test(excerpt)
  const challenge = headers.get('www-authenticate')
  const retryAfter = parseRetryAfter(headers.get('retry-after'), Date.now())
  return {
    ...answer,
    form: form !== 'other' ? form : isHtml ? 'html' : 'text',
    excerpt,
    ...(challenge !== null && { challenge }),
    ...(retryAfter !== undefined && { retryAfter: retryAfter / 1000 }),
  }
}

export interface ReadAnswerOptions {
  /** Where it was asked for. */
  readonly url: string
  readonly answerLimit: number
  readonly jsonDepth: number
}

export interface ReadStreamOptions extends ReadAnswerOptions {
  readonly eventLimit: number
  readonly idle: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** One event of a stream, not yet understood. */
export interface RawEvent {
  readonly id: string | undefined
  readonly follows?: string | undefined
  readonly data: unknown
  /** It is named as one. */
  readonly isError: boolean
}

/** What answers a call for a stream: a stream, or, whatever it is called, one answer. */
export type Stream = { readonly events: AsyncGenerator<RawEvent> } | { readonly answer: Answer }

export async function readStream(response: Response, options: ReadStreamOptions): Promise<Stream> {
  const type = response.headers.get('content-type')?.toLowerCase() ?? ''
  const { body } = response
  if (!body || !response.ok || /json|html/.test(type)) return { answer: await readAnswer(response, options) }
  if (type.includes('event-stream')) return { events: rawEvents(body, options) }
  // Some servers and proxies do not say that it is a stream.
  const seen = await sniffStream(body)
  if (seen.isStream) return { events: rawEvents(seen.body, options) }
  return { answer: await readAnswer(new Response(seen.body, response), options) }
}

/** Looks into what is not said to be a stream. One never begins as JSON or a page does. */
async function sniffStream(body: ReadableStream<Uint8Array>) {
  const [copy, rest] = body.tee()
  const reader = copy.getReader()
  const { value } = await reader.read()
  reader.cancel().catch(() => {})
  return { body: rest, isStream: !/^\s*[{[<]/.test(new TextDecoder().decode(value?.subarray(0, 64))) }
}

/** Why an event cannot be read. */
function brokenEvent(error: unknown, isCut: boolean, url: string): unknown {
  if (!(error instanceof JsonError)) return error
  if (isCut) {
    const problem = `The stream of ${url} broke off in the middle of an event.`
    return new A2AError('unavailable', problem, { cause: error, url, reason: 'connection-lost' })
  }
  const problem = `The stream of ${url} has an event that is no JSON: ${error.message}.`
  return new A2AError('invalid-agent-response', problem, { cause: error, url, reason: 'broken-event' })
}

/** The status does not matter, nor what the body claims to be: agents tell errors in many ways. */
export async function readAnswer(response: Response, options: ReadAnswerOptions): Promise<Answer> {
  const { status, redirected, headers } = response
  const bytes = await readLimited(response.body, options.answerLimit)
  const about = {
    status,
    headers,
    // The query may have credentials in it, which are to be shown to nobody.
    url: redirected ? response.url.replace(/[?#].*$/s, '') : options.url,
    wasRedirected: redirected,
    start: bytes.slice(0, 300),
  }
  try {
    const text = decodeUtf8(bytes)
    if (!/\S/.test(text)) return { ...about, form: 'empty', body: undefined }
    return { ...about, form: 'json', body: parseJsonText(text, { depth: options.jsonDepth }) }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { ...about, form: 'other', body: undefined }
  }
}

async function* rawEvents(body: ReadableStream<Uint8Array>, options: ReadStreamOptions): AsyncGenerator<RawEvent> {
  const { eventLimit: limit, jsonDepth: depth, idle, signal, url, clock: timers } = options
  for await (const { id, follows, event, data, isCut } of readEvents(body, { limit, idle, signal, timers })) {
    // Some servers keep the stream open with events of nothing.
    if (data.trim() === '') continue
    let read: unknown
    try {
      read = parseJsonText(data, { depth })
    } catch (error) {
      throw brokenEvent(error, isCut === true, url)
    }
    yield { id, follows, data: read, isError: event === 'error' }
  }
}
