import type { Trace } from '../protocol/trace.ts'
import type { MeshEnvelope } from './envelope.ts'
import { MeshError } from './errors.ts'
import { isObject } from './form.ts'

/** A way to one other agent. */
export interface Carrier {
  /** Sends an envelope and gives what came back; nothing comes back from a goodbye. */
  ask(envelope: Carried, signal: AbortSignal): Promise<MeshEnvelope>
  tell(text: string, signal: AbortSignal): Promise<void>
  close(): void
}

export interface Carried {
  readonly messageId: string
  readonly text: string
  /** Told beside the envelope, where there is a place for it: envelopes have none. */
  readonly trace?: Trace | undefined
  /** The other side knows frames that tell it. */
  readonly knowsFrames?: boolean
}

/** The error that a peer could not put into an envelope, if this is one. Nobody has signed it. */
export function plainErrorIn(body: unknown): MeshError | undefined {
  const error = isObject(body) && isObject(body.error) ? body.error : undefined
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return undefined
  return new MeshError(error.code.slice(0, 128), error.message.slice(0, 500), {
    ...(typeof error.retry_after === 'number' && { retryAfter: error.retry_after }),
  })
}

export function lost(what: string, cause?: unknown): MeshError {
  return new MeshError('SERVICE_UNAVAILABLE', what, { cause })
}
