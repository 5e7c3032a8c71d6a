import type { Handler } from '../../../src/core/server/handler.ts'

type Fetch = (request: Request) => Promise<Response>

export interface Faults {
  /** Cuts the nth stream after `cuts[n]` events, and later streams not at all. */
  readonly cuts?: readonly number[]
  /** Streams end normally instead of failing. */
  readonly cleanly?: boolean
  /** Removes event ids, like an agent that does not number its events. */
  readonly unnumbered?: boolean
  /** Sends every event twice. */
  readonly doubled?: boolean
}

export interface FaultyFetch {
  readonly fetch: Fetch
  readonly requests: readonly Request[]
}

/** Calls an agent in this process over a connection with reproducible faults. */
export function faultyFetch({ fetch }: Pick<Handler, 'fetch'>, faults: Faults): FaultyFetch {
  const requests: Request[] = []
  const cuts = [...(faults.cuts ?? [])]
  return {
    requests,
    async fetch(request) {
      requests.push(request.clone())
      if (faults.unnumbered) request.headers.delete('last-event-id')
      const response = await fetch(request)
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      if (!isStream || !response.body) return response
      const faulty = injectFaults(response.body, cuts.shift() ?? Number.POSITIVE_INFINITY, faults)
      return new Response(faulty, { status: response.status, headers: response.headers })
    },
  }
}

function injectFaults(body: ReadableStream<Uint8Array>, events: number, faults: Faults): ReadableStream<Uint8Array> {
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
            const sent = faults.unnumbered ? event.replace(/^id: .*\n/m, '') : event
            return controller.enqueue(encoder.encode(faults.doubled ? sent + sent : sent))
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
