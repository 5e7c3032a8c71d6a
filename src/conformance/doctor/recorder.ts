import { defined } from '../../core/base/json.ts'
import { hideQuery, secretHeaders } from '../../core/base/secret-names.ts'
import type { ConnectOptions } from '../../core/client/options.ts'
import type { RecordedExchange } from './report.ts'

/** Characters of a body that are kept as evidence. */
const maxBody = 1_500

/** Exchanges that are kept: a probe sends a few requests, and a search for the right path some more. */
const maxExchanges = 500

type Fetch = NonNullable<ConnectOptions['fetch']>

/** Records what is sent and received. */
export interface Recorder {
  record(fetch: Fetch): Fetch
  /** A position, for `since`. */
  mark(): number
  /** The exchanges after a position. */
  since(mark: number): readonly RecordedExchange[]
  /** How many requests were sent. */
  count(): number
}

/** `redact` removes the credentials that the caller knows. */
export function createRecorder(redact: (text: string) => string = (text) => text): Recorder {
  const exchanges: { current: RecordedExchange }[] = []
  let count = 0
  return {
    count: () => count,
    mark: () => exchanges.length,
    since: (mark) => exchanges.slice(mark).map(({ current }) => current),
    record: (fetch) => async (url, init) => {
      const { method = 'GET', headers, body } = init
      const request: RecordedExchange['request'] = defined({
        method,
        url: redact(hideQuery(url)),
        headers: headersOf(new Headers(headers), redact),
        body: typeof body === 'string' ? redact(body.slice(0, maxBody)) : undefined,
      })
      const entry: { current: RecordedExchange } = { current: { request, failure: 'no answer yet' } }
      count += 1
      if (exchanges.length < maxExchanges) exchanges.push(entry)
      const start = performance.now()
      try {
        const response = await fetch(url, init)
        const answer = {
          status: response.status,
          headers: headersOf(response.headers, redact),
          milliseconds: Math.round(performance.now() - start),
        }
        entry.current = { request, response: { ...answer, body: '' } }
        return recordBody(response, (body) => {
          entry.current = { request, response: { ...answer, body: redact(body) } }
        })
      } catch (error) {
        entry.current = { request, failure: redact(failureOf(error)) }
        throw error
      }
    },
  }
}

function headersOf(headers: Headers, redact: (text: string) => string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...headers].map(([name, value]) => [name, secretHeaders.test(name) ? '[redacted]' : redact(value)]),
  )
}

/** The innermost cause says most, such as `certificate has expired`. */
export function failureOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: `${error}`, cause: undefined }
  return cause instanceof Error ? failureOf(cause) : message
}

/** Passes the body on, and reports its start as it arrives. */
function recordBody(response: Response, onText: (text: string) => void): Response {
  const type = response.headers.get('content-type') ?? ''
  // The answers of gRPC have trailers, which a copy would lose.
  if (!response.body || !/^$|json|text|event-stream|html/.test(type)) return response
  const decoder = new TextDecoder()
  let text = ''
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (text.length < maxBody) {
          text = `${text}${decoder.decode(chunk, { stream: true })}`.slice(0, maxBody)
          onText(text)
        }
        controller.enqueue(chunk)
      },
    }),
  )
  const { status, statusText, headers, url, redirected } = response
  const copy = new Response(body, { status, statusText, headers })
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } })
}
