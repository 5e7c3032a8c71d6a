import { withDeadline } from '../core/base/abort.ts'
import { defined, isObject, type JsonObject } from '../core/base/json.ts'
import { checkOptions } from '../core/base/options.ts'
import type { Trace } from '../core/base/trace-context.ts'
import { observe, type Telemetry } from '../core/protocol/telemetry.ts'
import type { Carrier } from './carrier.ts'
import type { MeshAgentAnnouncement, MeshCard, MeshDiscoverAgents, MeshEnvelope } from './envelope.ts'
import type { EnvelopeDraft, WriteEnvelope } from './envelope-codec.ts'
import { MeshError, MeshRefusal } from './errors.ts'
import { type LookedUpKeysOptions, lookedUpKeys, lookedUpKeysChecks, type MeshKeySource } from './key-sources.ts'
import type { KeyMaterial } from './keys.ts'
import type { MeshObserver } from './observer.ts'
import type { MeshSession, Sessions } from './sessions.ts'
import { type Authenticate, checkFresh } from './signature.ts'
import { cardFor, negotiateVersions, supportsTraceFrames } from './versions.ts'

export interface LinkOptions {
  /** The id of the peer. Answers from other agents are rejected. */
  readonly agentId: string
  readonly card: MeshCard
  readonly carrier: Carrier
  readonly write: WriteEnvelope
  readonly authenticate: Authenticate
  readonly sessions: Sessions
  readonly timeout: number
  readonly now: () => number
  readonly telemetry: Telemetry | undefined
  readonly observer?: MeshObserver | undefined
}

/** Options of `link.request`. */
export interface MeshRequestOptions {
  readonly signal?: AbortSignal
  /** Milliseconds. */
  readonly timeout?: number
  /** The current trace, such as `turn.trace` or `call.trace`. Over a WebSocket it is sent only after a handshake. */
  readonly trace?: Trace | undefined
}

/** A connection to another peer. Calls throw `MeshError`, or `MeshRefusal` if a method rejects its request. */
export interface MeshLink {
  readonly agentId: string
  readonly session: MeshSession
  /** Introduces this peer and negotiates versions. */
  handshake(options?: MeshRequestOptions): Promise<MeshSession & { readonly state: 'established' }>
  request(method: string, parameters?: JsonObject, options?: MeshRequestOptions): Promise<JsonObject>
  /** Searches for agents. Only the registry answers. */
  discover(
    query?: MeshDiscoverAgents['payload'],
    options?: MeshRequestOptions,
  ): Promise<MeshAgentAnnouncement['payload']>
  goodbye(
    farewell?: { readonly reason?: string; readonly reconnectAfter?: number },
    options?: MeshRequestOptions,
  ): Promise<void>
  close(): void
}

export function createLink(options: LinkOptions): MeshLink {
  const { agentId, card, carrier, write, authenticate, sessions, now, observer } = options

  async function call<Type extends MeshEnvelope['message_type']>(
    draft: EnvelopeDraft,
    expected: Type,
    { signal, timeout = options.timeout, trace }: MeshRequestOptions = {},
  ): Promise<Extract<MeshEnvelope, { message_type: Type }>> {
    const timeoutError = () => new MeshError('TIMEOUT', `${agentId} did not answer within ${timeout / 1000} seconds.`)
    const deadline = withDeadline(signal, timeout, timeoutError)
    let messageId = ''
    try {
      const written = await write(draft)
      messageId = written.messageId
      const session = sessions.get(agentId)
      const peerCard = session.state === 'established' ? session.card : undefined
      const outgoing = { ...written, trace, supportsTraceFrames: supportsTraceFrames(peerCard) }
      const answer = await carrier.exchange(outgoing, deadline.signal)
      await checkAnswer(answer, messageId)
      observer?.seen(agentId)
      if (answer.message_type === 'error') throw decodeError(answer.payload.error)
      if (answer.message_type !== expected) throw invalidAnswer(`it is a ${answer.message_type}`)
      return answer as Extract<MeshEnvelope, { message_type: Type }>
    } catch (error) {
      observer?.failed(messageId, error instanceof MeshError ? `${error.code}: ${error.message}` : 'The call failed.')
      throw error instanceof MeshError ? new MeshError(error.code, error.message, { ...error, peer: agentId }) : error
    } finally {
      deadline.release()
    }
  }

  async function checkAnswer(answer: MeshEnvelope, messageId: string): Promise<void> {
    if (answer.correlation_id !== messageId) throw invalidAnswer('it answers another message')
    if (answer.sender_id !== agentId) throw invalidAnswer(`it comes from ${answer.sender_id}`)
    if (answer.recipient_id !== card.agent_id) throw invalidAnswer(`it is for ${answer.recipient_id}`)
    checkFresh(answer.timestamp, now())
    try {
      await authenticate(answer)
    } catch (error) {
      // At first contact neither side may know the key of the other, and the refusal says which key is missing there.
      throw answer.message_type === 'error' ? unverifiedRefusal(decodeError(answer.payload.error), error) : error
    }
  }

  function invalidAnswer(reason: string): MeshError {
    return new MeshError('VALIDATION_FAILED', `The answer of ${agentId} cannot be used: ${reason}.`)
  }

  return {
    agentId,
    get session() {
      return sessions.get(agentId)
    },
    async handshake(callOptions) {
      const draft = {
        message_type: 'handshake',
        recipient_id: agentId,
        payload: { agent_card: cardFor(card) },
      } as const
      sessions.apply(agentId, { type: 'handshake-sent' })
      try {
        const { payload } = await call(draft, 'handshake_ack', callOptions)
        if (!payload.accepted) throw new MeshError('FORBIDDEN', payload.reason || `${agentId} rejected the handshake.`)
        const peerCard = payload.agent_card
        if (peerCard.agent_id !== agentId) throw invalidAnswer(`its card is of ${peerCard.agent_id}`)
        const agreement = negotiateVersions(card, peerCard)
        if (payload.selected_protocol !== agreement.protocol)
          throw invalidAnswer(`it chose ${payload.selected_protocol}`)
        const session = { state: 'established', card: peerCard, agreement } as const
        sessions.apply(agentId, { type: 'agreed', card: peerCard, agreement })
        return session
      } catch (error) {
        sessions.apply(agentId, { type: 'failed' })
        throw error
      }
    },
    async request(method, parameters, callOptions) {
      const payload = defined({ method, parameters })
      const activity = { type: 'mesh', side: 'client', method, peer: agentId } as const
      const answer = await observe(options.telemetry, activity, callOptions?.trace, (span) => {
        const draft = { message_type: 'request', recipient_id: agentId, payload } as const
        return call(draft, 'response', { ...callOptions, trace: span?.trace ?? callOptions?.trace })
      })
      if (answer.payload.status === 'success') return answer.payload.data
      const { code, message, details } = answer.payload.error
      throw new MeshRefusal(code, message, details)
    },
    async discover(query = {}, callOptions) {
      const draft = { message_type: 'discover_agents', recipient_id: agentId, payload: query } as const
      return (await call(draft, 'agent_announcement', callOptions)).payload
    },
    async goodbye({ reason, reconnectAfter } = {}, { signal, timeout = options.timeout } = {}) {
      const payload = defined({ reason, reconnect_after: reconnectAfter })
      const timeoutError = () => new MeshError('TIMEOUT', `The goodbye did not reach ${agentId} in time.`)
      const deadline = withDeadline(signal, timeout, timeoutError)
      sessions.apply(agentId, { type: 'goodbye' })
      try {
        const written = await write({ message_type: 'goodbye', recipient_id: agentId, payload })
        await carrier.send(written.text, deadline.signal)
      } finally {
        deadline.release()
      }
    },
    close: () => carrier.close(),
  }
}

/**
 * Keys that agents presented when they registered. `link` is a function because the link belongs to the peer that needs
 * the keys. The key of the registry itself must come from elsewhere, such as the configuration.
 */
export function registryKeys(
  link: () => Pick<MeshLink, 'request'>,
  options: Omit<LookedUpKeysOptions, 'lookUp'> = {},
): MeshKeySource {
  checkOptions('registryKeys', options, lookedUpKeysChecks)
  const source = lookedUpKeys({ ...options, lookUp: (agentId) => lookUpKeys(link(), agentId) })
  // The registry must not vouch for itself.
  return { keysOf: (agentId) => (agentId === 'registry' ? [] : source.keysOf(agentId)) }
}

/** What the peer, or another party in its place, gave as the reason. */
function unverifiedRefusal(refusal: MeshError, cause: unknown): MeshError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new MeshError(
    refusal.code,
    `${refusal.message} (This answer could not be verified: ${why})`,
    defined({
      details: { ...refusal.details, verified: false },
      retryAfter: refusal.retryAfter,
      documentationUrl: refusal.documentationUrl,
      cause,
    }),
  )
}

function decodeError({
  code,
  message,
  details,
  retry_after,
  documentation_url,
}: Extract<MeshEnvelope, { message_type: 'error' }>['payload']['error']): MeshError {
  return new MeshError(
    code,
    message,
    defined({ details, retryAfter: retry_after, documentationUrl: documentation_url }),
  )
}

async function lookUpKeys(link: Pick<MeshLink, 'request'>, agentId: string): Promise<readonly KeyMaterial[]> {
  try {
    const { agent_card: card } = await link.request('registry.lookup', { agent_id: agentId })
    const metadata = isObject(card) ? card.metadata : undefined
    const key = isObject(metadata) ? metadata.public_key : undefined
    return typeof key === 'string' || isObject(key) ? [key as KeyMaterial] : []
  } catch (error) {
    if (error instanceof MeshRefusal && error.code === 'UNKNOWN_AGENT') return []
    const message = 'The registry, which has the keys of other agents, does not answer: try again.'
    throw new MeshError('SERVICE_UNAVAILABLE', message, { retryAfter: 1, cause: error })
  }
}
