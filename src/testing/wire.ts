import type { Clock } from '../base/clock.ts'
import type { Handler } from '../server/handler.ts'
import { type CallFault, connectionFailure, type Fault, spoil } from './faults.ts'

export interface WireOptions {
  readonly clock: Clock
  /** Faults of the streams, in the order in which they are opened. Later streams have none. */
  readonly faults: readonly (Fault | readonly Fault[])[]
}

/** The connection between a client and its agent. */
export interface Wire {
  readonly fetch: Handler['fetch']
  /** The requests so far, such as `POST /`, without those for the card. */
  readonly asked: readonly string[]
  /** Makes the next calls fail: the first fault applies to the next call, the second to the one after it. */
  fail(...faults: readonly CallFault[]): void
  /** Applies all these faults to the next stream. */
  spoil(...faults: readonly Fault[]): void
}

export function createWire({ fetch }: Pick<Handler, 'fetch'>, { clock, faults }: WireOptions): Wire {
  const asked: string[] = []
  const ofStreams = faults.map((each) => [each].flat())
  const ofCalls: CallFault[] = []

  /** Breaks the call before or after it reaches the agent. */
  async function sendThrough(request: Request, fault: Fault | undefined): Promise<Response> {
    if (fault?.type === 'refuse') throw connectionFailure('ECONNREFUSED')
    const response = await fetch(request)
    if (fault?.type !== 'lose') return response
    await response.body?.cancel()
    throw connectionFailure('ECONNRESET')
  }

  return {
    asked,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname.startsWith('/.well-known/')) return await fetch(request)
      asked.push(`${request.method} ${pathname}`)
      const isStream = request.headers.get('accept')?.includes('text/event-stream') ?? false
      const wrong = isStream ? (ofStreams.shift() ?? []) : []
      const response = await sendThrough(request, ofCalls.shift() ?? wrong.find(isOfCall))
      if (!isStream || !response.body || wrong.length === 0) return response
      return new Response(spoil(response.body, wrong, clock), response)
    },
    fail: (...more) => void ofCalls.push(...more),
    spoil: (...more) => void ofStreams.push([...more]),
  }
}

function isOfCall({ type }: Fault): boolean {
  return type === 'refuse' || type === 'lose'
}
