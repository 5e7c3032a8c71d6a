import { BodyTooLarge, type Incoming } from '../http/exchange.ts'
import { JsonError, parseJson } from '../http/json.ts'
import { isJson } from '../http/media-type.ts'
import { A2AError } from '../protocol/errors.ts'

export interface BodyLimits {
  readonly bodyLimit: number
  readonly jsonDepth: number
}

/** The JSON of a body. One that is not declared as JSON is not even read. */
export async function readBody(incoming: Incoming, { bodyLimit, jsonDepth }: BodyLimits): Promise<unknown> {
  if (!isJson(incoming.header('content-type'))) {
    throw new A2AError('content-type-not-supported', 'The body must be JSON, with Content-Type: application/json.')
  }
  try {
    return parseJson(await incoming.bytes(bodyLimit), { depth: jsonDepth })
  } catch (error) {
    if (error instanceof BodyTooLarge) {
      throw new A2AError('payload-too-large', `The body is longer than ${bodyLimit} bytes.`, { cause: error })
    }
    if (error instanceof JsonError) {
      throw new A2AError('parse-error', `Invalid JSON: ${error.message}.`, { cause: error })
    }
    throw error
  }
}
