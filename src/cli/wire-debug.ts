import { hideQuery, secretHeaders } from '../core/base/secret-names.ts'
import type { Output } from './output.ts'

/** Characters of a body that are shown. */
const maxBody = 20_000

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Shows every request and response on stderr for `--debug`, without credentials. */
export function debugging(fetch: Fetch, output: Output): Fetch {
  if (!output.isDebugging) return fetch
  return async (url, init) => {
    const { method = 'GET', headers, body } = init
    output.debug(`> ${method} ${hideQuery(url)}`)
    showHeaders('>', new Headers(headers), output)
    if (typeof body === 'string') output.debug(`> ${body.slice(0, maxBody)}`)
    else if (body !== undefined && body !== null) output.debug(`> (${sizeOf(body)} bytes)`)
    const start = Date.now()
    try {
      const response = await fetch(url, init)
      output.debug(`< ${response.status} ${response.statusText} (${Date.now() - start} ms)`)
      showHeaders('<', response.headers, output)
      return showBody(response, output)
    } catch (error) {
      output.debug(`< no response: ${error instanceof Error ? error.message : error}`)
      throw error
    }
  }
}

function showHeaders(mark: string, headers: Headers, output: Output): void {
  for (const [name, value] of headers) {
    output.debug(`${mark} ${name}: ${secretHeaders.test(name) ? '[redacted]' : value}`)
  }
}

function sizeOf(body: unknown): number | string {
  return body instanceof Uint8Array ? body.byteLength : '?'
}

/** Passes the body on and shows every chunk of text as it arrives. */
function showBody(response: Response, output: Output): Response {
  const type = response.headers.get('content-type') ?? ''
  if (!response.body || !/json|text|event-stream/.test(type)) return response
  const decoder = new TextDecoder()
  let shown = 0
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true })
        if (shown < maxBody) output.debug(`< ${text.slice(0, maxBody - shown).trimEnd()}`)
        shown += text.length
        controller.enqueue(chunk)
      },
    }),
  )
  const { status, statusText, headers, url, redirected } = response
  const copy = new Response(body, { status, statusText, headers })
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } })
}
