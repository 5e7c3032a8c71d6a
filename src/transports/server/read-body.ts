import { BodyTooLarge, type Incoming } from '../../http/exchange.ts'
import { isJson, JsonError, parseJson } from '../../http/json.ts'
import { Overloaded, retryAfterOverload } from '../../http/load.ts'
import { A2AError } from '../../protocol/errors.ts'

export interface BodyLimits {
  readonly bodyLimit: number
  readonly jsonDepth: number
}

/** The JSON of a body. One that is not declared as JSON, or is compressed, is not even read. */
export async function readBody(incoming: Incoming, limits: BodyLimits): Promise<unknown> {
  requirePlain(incoming)
  if (!isJson(incoming.header('content-type'))) throw notJson()
  let bytes: Uint8Array
  try {
    bytes = await incoming.bytes(limits.bodyLimit)
  } catch (error) {
    throw explained(error, limits)
  }
  return parse(bytes, limits)
}

/** The same where a body may be left out. */
export async function readOptionalBody(incoming: Incoming, limits: BodyLimits): Promise<unknown> {
  requirePlain(incoming)
  const contentType = incoming.header('content-type')
  if (contentType !== undefined && !isJson(contentType)) throw notJson()
  let bytes: Uint8Array
  try {
    bytes = await incoming.bytes(limits.bodyLimit)
  } catch (error) {
    throw explained(error, limits)
  }
  if (bytes.length === 0) return undefined
  if (contentType === undefined) throw notJson()
  return parse(bytes, limits)
}

/** What callers are told when the server has too much to do. Nothing of the call was done. */
export function overloaded(cause?: unknown): A2AError {
  const text = 'This server has too much to do just now: try again in a moment.'
  return new A2AError('unavailable', text, { cause, retryAfter: retryAfterOverload, metadata: { reason: 'overload' } })
}

/** A small body could unfold into a giant one; those of A2A are small as they are. */
function requirePlain({ header }: Incoming): void {
  const coding = header('content-encoding')
  if (coding === undefined || coding.toLowerCase() === 'identity') return
  throw new A2AError('content-type-not-supported', 'The body must not be compressed: send it without Content-Encoding.')
}

function notJson(): A2AError {
  return new A2AError('content-type-not-supported', 'The body must be JSON, with Content-Type: application/json.')
}

function explained(error: unknown, { bodyLimit }: BodyLimits): unknown {
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
