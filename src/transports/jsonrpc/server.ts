import { isStream, type ServerDialect } from '../../dialects/dialect.ts'
import { negotiate, operationOf } from '../../dialects/negotiate.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { eventStream, sseHeaders } from '../../http/sse.ts'
import { anonymous } from '../../protocol/model.ts'
import { callerError } from '../caller-error.ts'
import { openTexts, type Wording } from '../event-texts.ts'
import { openStream, operate } from '../operate.ts'
import { limitsOf, type WireOptions } from '../options.ts'
import { readBody } from '../read-body.ts'
import { acceptsStream, namingExtensions, resumePointOf, versionOf } from '../service-parameters.ts'
import { WireCall } from '../wire-call.ts'
import {
  failureText,
  missingId,
  type RequestId,
  readCall,
  readEnvelope,
  readId,
  successStart,
  successText,
} from './envelope.ts'
import { inStream, jsonHeaders, refusal } from './refusal.ts'
import { unadmitted } from './unadmitted.ts'

/** Answers one POST. It never throws: whatever goes wrong is an answer. */
export type JsonRpc = (incoming: Incoming) => Promise<Outgoing>

export function createJsonRpc(options: WireOptions): JsonRpc {
  const { service, principalOf, recall, onError, lenientEnvelope = false } = options
  const { bodyLimit, jsonDepth, heartbeat, clock } = limitsOf(options)

  return async (incoming) => {
    let id: RequestId = null
    let dialect = options.dialects[0]
    let awaitsStream = false
    let principal = anonymous
    try {
      const known = principalOf(incoming)
      principal = known instanceof Promise ? await known : known
    } catch (error) {
      return await unadmitted(incoming, options, callerError(error, { signal: incoming.signal, onError, incoming }))
    }
    try {
      const envelope = readEnvelope(await readBody(incoming, { bodyLimit, jsonDepth }))
      const given = readId(envelope)
      id = given ?? null
      const { method, params } = readCall(envelope, lenientEnvelope)
      const proposal = { version: versionOf(incoming), method, params, acceptsStream: acceptsStream(incoming) }
      const agreed = negotiate(proposal, options, (address) => recall(address, principal))
      dialect = agreed instanceof Promise ? await agreed : agreed
      if (given === undefined && !dialect.allowsMissingId && !lenientEnvelope) throw missingId()
      const operation = operationOf(dialect, proposal, options)
      awaitsStream = isStream(operation) && proposal.acceptsStream
      const call = new WireCall(incoming, principal, options)

      if (!isStream(operation)) {
        const result = await operate(service, { dialect, operation, params, call })
        return { status: 200, headers: namingExtensions(jsonHeaders, call, dialect), body: successText(id, result) }
      }
      const received = { dialect, operation, params, call }
      const { signal } = incoming
      const { events, ...opened } = openStream(service, received, { after: resumePointOf(incoming) })
      const wording = wordingOf(id, dialect)
      const texts = await openTexts(events, {
        ...opened,
        dialect,
        wording,
        signal,
        onError,
        incoming,
        heartbeat,
        clock,
      })
      const headers = namingExtensions(sseHeaders, call, dialect)
      return { status: 200, headers, body: eventStream(texts, { heartbeat, signal, timers: clock }) }
    } catch (error) {
      const answer = refusal(id, dialect, callerError(error, { signal: incoming.signal, onError, incoming }))
      return awaitsStream && isOld(dialect) ? inStream(answer) : answer
    }
  }
}

function wordingOf(id: RequestId, dialect: ServerDialect): Wording {
  return {
    before: successStart(id),
    after: '}',
    failure: (error) => failureText(id, dialect.encodeError(error)),
  }
}

function isOld({ version }: ServerDialect): boolean {
  return version.startsWith('0.')
}
