import { JsonError, parseJsonText } from '../http/json-text.ts'
import { readEvents } from '../http/read-events.ts'
import type { Clock } from '../protocol/clock.ts'
import { A2AError } from '../protocol/errors.ts'
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
  const isRead = body !== null && response.ok && !/json|html/.test(type)
  const opened = isRead && !type.includes('event-stream') ? await lookInto(body) : { body, isStream: isRead }
  if (opened.isStream && opened.body) return { events: rawEvents(opened.body, options) }
  return { answer: await readAnswer(opened.body === body ? response : new Response(opened.body, response), options) }
}

/** Some servers and proxies do not say that it is a stream; it never begins as JSON or a page does. */
async function lookInto(body: ReadableStream<Uint8Array>) {
  const [copy, rest] = body.tee()
  const reader = copy.getReader()
  const { value } = await reader.read()
  reader.cancel().catch(() => {})
  return { body: rest, isStream: !/^\s*[{[<]/.test(new TextDecoder().decode(value?.subarray(0, 64))) }
}

async function* rawEvents(body: ReadableStream<Uint8Array>, options: ReadStreamOptions): AsyncGenerator<RawEvent> {
  const { eventLimit, jsonDepth, idle, signal, url, clock } = options
  for await (const { id, follows, event, data, isCut } of readEvents(body, {
    limit: eventLimit,
    idle,
    signal,
    timers: clock,
  })) {
    // Some servers keep the stream open with events of nothing.
    if (data.trim() === '') continue
    yield { id, follows, data: parse(data, jsonDepth, isCut === true, url), isError: event === 'error' }
  }
}

function parse(data: string, depth: number, isCut: boolean, url: string): unknown {
  try {
    return parseJsonText(data, { depth })
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (isCut) {
      const problem = `The stream of ${url} broke off in the middle of an event.`
      throw new A2AError('unavailable', problem, { cause: error, url, reason: 'connection-lost' })
    }
    const problem = `The stream of ${url} has an event that is no JSON: ${error.message}.`
    throw new A2AError('invalid-agent-response', problem, { cause: error, url, reason: 'broken-event' })
  }
}
