import { parseJsonText } from '../http/json-text.ts'
import { readEvents } from '../http/read-events.ts'
import type { Clock } from '../protocol/clock.ts'
import { failures } from './on-failure.ts'
import { type Answer, type ReadAnswerOptions, readAnswer } from './read-answer.ts'

/** One event of a stream, not yet understood. */
export interface RawEvent {
  readonly id: string | undefined
  readonly follows?: string | undefined
  readonly data: unknown
  /** It is named as one. */
  readonly isError: boolean
}

export interface ReadStreamOptions extends ReadAnswerOptions {
  readonly eventLimit: number
  readonly idle: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** What answers a call for a stream: a stream, or, whatever it is called, one answer. */
export type Stream = { readonly events: AsyncGenerator<RawEvent> } | { readonly answer: Answer }

export async function readStream(response: Response, options: ReadStreamOptions): Promise<Stream> {
  const type = response.headers.get('content-type')?.toLowerCase() ?? ''
  const { body } = response
  if (!body || !response.ok || /json|html/.test(type)) return { answer: await readAnswer(response, options) }
  if (type.includes('event-stream')) return { events: rawEvents(body, options) }
  // Some servers and proxies do not say that it is a stream.
  const seen = await (await failures()).lookInto(body)
  if (seen.isStream) return { events: rawEvents(seen.body, options) }
  return { answer: await readAnswer(new Response(seen.body, response), options) }
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
      throw (await failures()).brokenEvent(error, isCut === true, url)
    }
    yield { id, follows, data: read, isError: event === 'error' }
  }
}
