import type { Handler } from '../../../src/server/handler.ts'

type Fetch = (request: Request) => Promise<Response>

export interface Faults {
  /** After how many events each stream breaks, one number per stream; streams beyond are left alone. */
  readonly cuts?: readonly number[]
  /** Streams end instead of breaking. */
  readonly cleanly?: boolean
  /** Like an agent that does not number its events. */
  readonly unnumbered?: boolean
  /** Every event comes twice. */
  readonly doubled?: boolean
}

export interface FaultyFetch {
  readonly fetch: Fetch
  /** The requests that were made. */
  readonly asked: readonly Request[]
}

/** An agent in this process behind a connection that breaks, at the same places every time. */
export function faultyFetch({ fetch }: Pick<Handler, 'fetch'>, faults: Faults): FaultyFetch {
  const asked: Request[] = []
  const cuts = [...(faults.cuts ?? [])]
  return {
    asked,
    async fetch(request) {
      asked.push(request.clone())
      if (faults.unnumbered) request.headers.delete('last-event-id')
      const response = await fetch(request)
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      if (!isStream || !response.body) return response
      const broken = spoil(response.body, cuts.shift() ?? Number.POSITIVE_INFINITY, faults)
      return new Response(broken, { status: response.status, headers: response.headers })
    },
  }
}

function spoil(body: ReadableStream<Uint8Array>, events: number, faults: Faults): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let text = ''
  let left = events
  return new ReadableStream(
    {
      async pull(controller) {
        for (;;) {
          const end = text.indexOf('\n\n')
          if (left === 0) {
            await reader.cancel()
            return faults.cleanly ? controller.close() : controller.error(new TypeError('terminated'))
          }
          if (end >= 0) {
            const event = text.slice(0, end + 2)
            text = text.slice(end + 2)
            left--
            const told = faults.unnumbered ? event.replace(/^id: .*\n/m, '') : event
            return controller.enqueue(encoder.encode(faults.doubled ? told + told : told))
          }
          const { done, value } = await reader.read()
          if (done) return controller.close()
          text += decoder.decode(value, { stream: true })
        }
      },
      async cancel() {
        await reader.cancel()
      },
    },
    { highWaterMark: 0 },
  )
}
