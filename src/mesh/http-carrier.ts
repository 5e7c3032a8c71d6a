import { BodyTooLarge } from '../http/exchange.ts'
import type { Fetch } from '../http/outbound.ts'
import { readLimited } from '../http/read-limited.ts'
import { type Trace, traceHeaders } from '../protocol/trace.ts'
import { type Carrier, lost, plainErrorIn } from './carrier.ts'
import type { MeshError } from './errors.ts'
import { defaultMaxBytes, type ReadEnvelope } from './read-envelope.ts'

export interface HttpCarrierOptions {
  readonly endpoint: string
  readonly read: ReadEnvelope
  /** A guarded one, if the endpoint was named by somebody else. */
  readonly fetch?: Fetch
  readonly maxBytes?: number
}

/** Envelopes by `POST`. */
export function createHttpCarrier(options: HttpCarrierOptions): Carrier {
  const { endpoint, read, fetch = globalThis.fetch, maxBytes = defaultMaxBytes } = options

  async function post(
    text: string,
    signal: AbortSignal,
    trace?: Trace,
  ): Promise<{ readonly status: number; readonly bytes: Uint8Array }> {
    const headers = { 'content-type': 'application/json', accept: 'application/json', ...traceHeaders(trace) }
    try {
      const response = await fetch(endpoint, { method: 'POST', headers, body: text, signal, redirect: 'error' })
      return { status: response.status, bytes: await readLimited(response.body, maxBytes) }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof BodyTooLarge)
        throw lost(`The answer of ${endpoint} is longer than ${maxBytes} bytes.`, error)
      throw lost(`${endpoint} cannot be reached.`, error)
    }
  }

  return {
    async ask({ text, trace }, signal) {
      const { status, bytes } = await post(text, signal, trace)
      const reading = read(bytes)
      if (reading.envelope) return reading.envelope
      throw plainErrorOf(bytes) ?? lost(`${endpoint} answered ${status}, and not with an envelope.`, reading.error)
    },
    async tell(text, signal) {
      const { status, bytes } = await post(text, signal)
      if (status >= 400) throw plainErrorOf(bytes) ?? lost(`${endpoint} answered ${status}.`)
    },
    close() {},
  }
}

function plainErrorOf(bytes: Uint8Array): MeshError | undefined {
  try {
    return plainErrorIn(JSON.parse(new TextDecoder().decode(bytes)))
  } catch {
    return undefined
  }
}
