import type { ServerDialect } from '../../dialects/dialect.ts'
import { negotiate } from '../../dialects/negotiate.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import type { A2AError } from '../../protocol/errors.ts'
import { limitsOf, type WireOptions } from '../options.ts'
import { readBody } from '../read-body.ts'
import { acceptsStream, versionOf } from '../service-parameters.ts'
import { type RequestId, readCall, readEnvelope, readId } from './envelope.ts'
import { refusal } from './refusal.ts'

/** Bytes of a call by somebody who is not let in: enough to learn in which words to say so. */
const glance = 64 * 1024

/** Answers who is not let in, under the id and in the dialect of the call if it is short. Nothing of it is done. */
export async function unadmitted(incoming: Incoming, options: WireOptions, error: A2AError): Promise<Outgoing> {
  let id: RequestId = null
  let dialect: ServerDialect = options.dialects[0]
  try {
    const { bodyLimit, jsonDepth } = limitsOf(options)
    const envelope = readEnvelope(await readBody(incoming, { bodyLimit: Math.min(bodyLimit, glance), jsonDepth }))
    id = readId(envelope) ?? null
    const { method, params } = readCall(envelope)
    const proposal = { version: versionOf(incoming), method, params, acceptsStream: acceptsStream(incoming) }
    dialect = await negotiate(proposal, options, async () => undefined)
  } catch {
    // It is refused in any case.
  }
  return refusal(id, dialect, error)
}
