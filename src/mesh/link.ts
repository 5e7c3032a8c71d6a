import { withDeadline } from '../base/abort.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import { observe, type Telemetry } from '../protocol/telemetry.ts'
import type { Carrier } from './carrier.ts'
import type { MeshAgentAnnouncement, MeshCard, MeshDiscoverAgents, MeshEnvelope } from './envelope.ts'
import type { Draft, WriteEnvelope } from './envelope-codec.ts'
import { MeshError, MeshRefusal } from './errors.ts'
import { type LookedUpKeysOptions, lookedUpKeys, type MeshKeySource } from './key-sources.ts'
import type { KeyMaterial } from './keys.ts'
import type { Session, Sessions } from './sessions.ts'
import { type Authenticate, checkFresh } from './signature.ts'
import { agree, cardFor, knowsFrames } from './versions.ts'

const nobody = new AbortController().signal

export interface LinkOptions {
  /** The name of the other one: nobody else may answer. */
  readonly agentId: string
  readonly card: MeshCard
  readonly carrier: Carrier
  readonly write: WriteEnvelope
  readonly authenticate: Authenticate
  readonly sessions: Sessions
  readonly timeout: number
  readonly now: () => number
  readonly telemetry: Telemetry | undefined
}

export interface MeshRequestOptions {
  readonly signal?: AbortSignal
  /** Milliseconds. */
  readonly timeout?: number
  /** The trace that it is a part of, such as `turn.trace` or `call.trace`. Over a WebSocket it is told once both have shaken hands. */
  readonly trace?: Trace | undefined
}

/** Another agent, as we talk to it. Errors are `MeshError`, and what a method refuses is a `MeshRefusal`. */
export interface MeshLink {
  readonly agentId: string
  readonly session: Session
  /** Introduces us, and agrees on versions. */
  handshake(options?: MeshRequestOptions): Promise<Session & { readonly state: 'established' }>
  request(method: string, parameters?: JsonObject, options?: MeshRequestOptions): Promise<JsonObject>
  /** Only the registry knows. */
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
  const { agentId, card, carrier, write, authenticate, sessions, now } = options

  async function ask<Type extends MeshEnvelope['message_type']>(
    draft: Draft,
    expected: Type,
    { signal = nobody, timeout = options.timeout, trace }: MeshRequestOptions = {},
  ): Promise<Extract<MeshEnvelope, { message_type: Type }>> {
    const late = () => new MeshError('TIMEOUT', `${agentId} did not answer within ${timeout / 1000} seconds.`)
    const deadline = withDeadline(signal, timeout, late)
    try {
      const written = await write(draft)
      const session = sessions.get(agentId)
      const theirs = session.state === 'established' ? session.card : undefined
      const carried = { ...written, trace, knowsFrames: knowsFrames(theirs) }
      const answer = await carrier.ask(carried, deadline.signal)
      await check(answer, written.messageId)
      if (answer.message_type === 'error') throw errorOf(answer.payload.error)
      if (answer.message_type !== expected) throw wrong(`it is a ${answer.message_type}`)
      return answer as Extract<MeshEnvelope, { message_type: Type }>
    } catch (error) {
      throw error instanceof MeshError ? new MeshError(error.code, error.message, { ...error, asked: agentId }) : error
    } finally {
      deadline.release()
    }
  }

  async function check(answer: MeshEnvelope, messageId: string): Promise<void> {
    if (answer.correlation_id !== messageId) throw wrong('it answers another message')
    if (answer.sender_id !== agentId) throw wrong(`it comes from ${answer.sender_id}`)
    if (answer.recipient_id !== card.agent_id) throw wrong(`it is for ${answer.recipient_id}`)
    checkFresh(answer.timestamp, now())
    await authenticate(answer)
  }

  function wrong(why: string): MeshError {
    return new MeshError('VALIDATION_FAILED', `The answer of ${agentId} cannot be used: ${why}.`)
  }

  return {
    agentId,
    get session() {
      return sessions.get(agentId)
    },
    async handshake(asking) {
      const draft = {
        message_type: 'handshake',
        recipient_id: agentId,
        payload: { agent_card: cardFor(card) },
      } as const
      sessions.apply(agentId, { type: 'handshake-sent' })
      try {
        const { payload } = await ask(draft, 'handshake_ack', asking)
        if (!payload.accepted) throw new MeshError('FORBIDDEN', payload.reason || `${agentId} refused to shake hands.`)
        const theirs = payload.agent_card
        if (theirs.agent_id !== agentId) throw wrong(`its card is of ${theirs.agent_id}`)
        const agreement = agree(card, theirs)
        if (payload.selected_protocol !== agreement.protocol) throw wrong(`it chose ${payload.selected_protocol}`)
        const session = { state: 'established', card: theirs, agreement } as const
        sessions.apply(agentId, { type: 'agreed', card: theirs, agreement })
        return session
      } catch (error) {
        sessions.apply(agentId, { type: 'failed' })
        throw error
      }
    },
    async request(method, parameters, asking) {
      const payload = { method, ...(parameters && { parameters }) }
      const activity = { type: 'mesh', side: 'client', method, peer: agentId } as const
      const answer = await observe(options.telemetry, activity, asking?.trace, (span) => {
        const draft = { message_type: 'request', recipient_id: agentId, payload } as const
        return ask(draft, 'response', { ...asking, trace: span?.trace ?? asking?.trace })
      })
      if (answer.payload.status === 'success') return answer.payload.data
      const { code, message, details } = answer.payload.error
      throw new MeshRefusal(code, message, details)
    },
    async discover(query = {}, asking) {
      const draft = { message_type: 'discover_agents', recipient_id: agentId, payload: query } as const
      return (await ask(draft, 'agent_announcement', asking)).payload
    },
    async goodbye({ reason, reconnectAfter } = {}, { signal = nobody, timeout = options.timeout } = {}) {
      const payload = {
        ...(reason !== undefined && { reason }),
        ...(reconnectAfter !== undefined && { reconnect_after: reconnectAfter }),
      }
      const late = () => new MeshError('TIMEOUT', `The goodbye did not reach ${agentId} in time.`)
      const deadline = withDeadline(signal, timeout, late)
      sessions.apply(agentId, { type: 'goodbye' })
      try {
        const written = await write({ message_type: 'goodbye', recipient_id: agentId, payload })
        await carrier.tell(written.text, deadline.signal)
      } finally {
        deadline.release()
      }
    },
    close: () => carrier.close(),
  }
}

/**
 * The keys that agents showed when they registered. The link is asked for late: it belongs to the peer that needs the
 * keys. The key of the registry itself must come from elsewhere, such as the configuration.
 */
export function registryKeys(
  link: () => Pick<MeshLink, 'request'>,
  options: Omit<LookedUpKeysOptions, 'lookUp'> = {},
): MeshKeySource {
  const source = lookedUpKeys({ ...options, lookUp: (agentId) => keysAt(link(), agentId) })
  // Whoever vouches for others does not vouch for itself.
  return { keysOf: (agentId) => (agentId === 'registry' ? [] : source.keysOf(agentId)) }
}

function errorOf({
  code,
  message,
  details,
  retry_after,
  documentation_url,
}: Extract<MeshEnvelope, { message_type: 'error' }>['payload']['error']): MeshError {
  return new MeshError(code, message, {
    ...(details && { details }),
    ...(retry_after !== undefined && { retryAfter: retry_after }),
    ...(documentation_url !== undefined && { documentationUrl: documentation_url }),
  })
}

async function keysAt(link: Pick<MeshLink, 'request'>, agentId: string): Promise<readonly KeyMaterial[]> {
  try {
    const { agent_card: card } = await link.request('registry.lookup', { agent_id: agentId })
    const metadata = isObject(card) ? card.metadata : undefined
    const key = isObject(metadata) ? metadata.public_key : undefined
    return typeof key === 'string' || isObject(key) ? [key as KeyMaterial] : []
  } catch (error) {
    if (error instanceof MeshRefusal && error.code === 'UNKNOWN_AGENT') return []
    const problem = 'The registry, which knows the keys of others, does not answer: try again.'
    throw new MeshError('SERVICE_UNAVAILABLE', problem, { retryAfter: 1, cause: error })
  }
}
