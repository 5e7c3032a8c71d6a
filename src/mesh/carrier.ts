import { isObject } from '../base/json.ts'
import { type Trace, traceHeaders } from '../base/trace-context.ts'
import { BodyTooLarge } from '../http/exchange.ts'
import type { Fetch } from '../http/fetch.ts'
import { readLimited } from '../http/read-limited.ts'
import type { MeshEnvelope } from './envelope.ts'
import { defaultMaxBytes, type ReadEnvelope } from './envelope-codec.ts'
import { MeshError } from './errors.ts'

export interface HttpCarrierOptions {
  readonly endpoint: string
  readonly read: ReadEnvelope
  /** A guarded one, if the endpoint was named by somebody else. */
  readonly fetch?: Fetch
  readonly maxBytes?: number
}

export interface Carried {
  readonly messageId: string
  readonly text: string
  /** Told beside the envelope, where there is a place for it: envelopes have none. */
  readonly trace?: Trace | undefined
  /** The other side knows frames that tell it. */
  readonly knowsFrames?: boolean
}

/** A way to one other agent. */
export interface Carrier {
  /** Sends an envelope and gives what came back; nothing comes back from a goodbye. */
  ask(envelope: Carried, signal: AbortSignal): Promise<MeshEnvelope>
  tell(text: string, signal: AbortSignal): Promise<void>
  close(): void
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

export function lost(what: string, cause?: unknown): MeshError {
  return new MeshError('SERVICE_UNAVAILABLE', what, { cause })
}

function plainErrorOf(bytes: Uint8Array): MeshError | undefined {
  try {
    return plainErrorIn(JSON.parse(new TextDecoder().decode(bytes)))
  } catch {
    return undefined
  }
}

/** The error that a peer could not put into an envelope, if this is one. Nobody has signed it. */
function plainErrorIn(body: unknown): MeshError | undefined {
  const error = isObject(body) && isObject(body.error) ? body.error : undefined
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return undefined
  return new MeshError(error.code.slice(0, 128), error.message.slice(0, 500), {
    ...(typeof error.retry_after === 'number' && { retryAfter: error.retry_after }),
  })
}
