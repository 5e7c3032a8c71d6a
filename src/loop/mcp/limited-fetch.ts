import type { FetchLike } from '@modelcontextprotocol/client'

/** A `fetch` whose answers break off beyond so many bytes; of streams of events, each event may have as many. */
export function limitedFetch(fetch: FetchLike, maxBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    const { body, headers, status, statusText } = response
    if (!body) return response
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    return new Response(body.pipeThrough(limit(maxBytes, isStream)), { headers, status, statusText })
  }
}

function limit(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      // An event ends with an empty line. What follows the last one in this chunk belongs to the next.
      const end = isStream ? lastEmptyLine(chunk) : -1
      bytes = end < 0 ? bytes + chunk.length : chunk.length - end
      if (bytes > maxBytes) controller.error(new Error(`the MCP server sent more than ${maxBytes} bytes at once`))
      else controller.enqueue(chunk)
    },
  })
}

function lastEmptyLine(chunk: Uint8Array): number {
  for (let at = chunk.length - 1; at > 0; at--) {
    if (chunk[at] === newline && (chunk[at - 1] === newline || (chunk[at - 1] === 13 && chunk[at - 2] === newline))) {
      return at
    }
  }
  return -1
}

const newline = 10
