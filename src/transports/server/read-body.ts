import { BodyTooLarge, type Incoming } from '../../http/exchange.ts'
import { isJson, JsonError, parseJson } from '../../http/json.ts'
import { Overloaded, retryAfterOverload } from '../../http/load.ts'
import { A2AError } from '../../protocol/errors.ts'

export interface BodyLimits {
  readonly bodyLimit: number
  readonly jsonDepth: number
}

/** Reads a JSON body. A body that is compressed or not declared as JSON is rejected unread. */
export function readBody(incoming: Incoming, limits: BodyLimits): Promise<unknown> {
  return read(incoming, limits, false)
}

/** Reads a JSON body that may be missing. */
export function readOptionalBody(incoming: Incoming, limits: BodyLimits): Promise<unknown> {
  return read(incoming, limits, true)
}

/** The error for calls that an overloaded server rejects before it does any of their work. */
export function overloaded(cause?: unknown): A2AError {
  const text = 'This server has too much to do just now: try again in a moment.'
  return new A2AError('unavailable', text, { cause, retryAfter: retryAfterOverload, metadata: { reason: 'overload' } })
}

async function read(incoming: Incoming, limits: BodyLimits, isOptional: boolean): Promise<unknown> {
  requireUncompressed(incoming)
  const contentType = incoming.header('content-type')
  const mayBeMissing = isOptional && contentType === undefined
  if (!mayBeMissing && !isJson(contentType)) throw notJson()
  let bytes: Uint8Array
  try {
    bytes = await incoming.bytes(limits.bodyLimit)
  } catch (error) {
    throw readError(error, limits)
  }
  if (isOptional && bytes.length === 0) return undefined
  if (mayBeMissing) throw notJson()
  return parse(bytes, limits)
}

/** A small compressed body could expand to a very large one, and A2A requests are small without compression. */
function requireUncompressed({ header }: Incoming): void {
  const coding = header('content-encoding')
  if (coding === undefined || coding.toLowerCase() === 'identity') return
  throw new A2AError('content-type-not-supported', 'The body must not be compressed: send it without Content-Encoding.')
}

function notJson(): A2AError {
  return new A2AError('content-type-not-supported', 'The body must be JSON, with Content-Type: application/json.')
}

function readError(error: unknown, { bodyLimit }: BodyLimits): unknown {
  if (error instanceof Overloaded) return overloaded(error)
  if (!(error instanceof BodyTooLarge)) return error
  return new A2AError('payload-too-large', `The body is longer than ${bodyLimit} bytes.`, { cause: error })
}

function parse(bytes: Uint8Array, { jsonDepth }: BodyLimits): unknown {
  try {
    return parseJson(bytes, { depth: jsonDepth })
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new A2AError('parse-error', `Invalid JSON: ${error.message}.`, { cause: error })
  }
}
