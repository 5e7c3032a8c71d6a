import { defined } from '../core/base/json.ts'
import type { Infer, Schema } from '../core/schema/schema.ts'
import { nullable, nullValue, type StrictSchema, strict } from '../core/schema/strict.ts'
import { literal } from '../core/schema/unions.ts'
import { type Fields, object, optional, struct } from '../core/schema/values.ts'
import {
  AgentAnnouncementPayload,
  AgentId,
  AuthenticationTag,
  DiscoverAgentsPayload,
  ErrorPayload,
  GoodbyePayload,
  HandshakeAckPayload,
  HandshakePayload,
  LenientAuthenticationTag,
  LenientId,
  type MeshAgentCard,
  MessageId,
  RequestPayload,
  ResponsePayload,
  type SchemaVersion,
  Timestamp,
} from './payloads.ts'

/** The agent id that answers discovery. */
const registryId = 'registry'

export interface EnvelopeRules {
  /** Without a version, everything that one of the versions allows. */
  readonly version?: SchemaVersion
  /** Also accepts ids and nonces that are no UUIDs and no hexadecimal digits, as in old traffic. */
  readonly lenientIds?: boolean
}

export type EnvelopeSchemas = ReadonlyMap<unknown, StrictSchema<unknown>>

/** The schema of an envelope by message type. Create it once. */
export function createEnvelopeSchemas(rules: EnvelopeRules = {}): EnvelopeSchemas {
  const base = baseMembers(rules)
  return new Map(
    Object.entries(membersByType(rules)).map(([type, members]) => [
      type,
      strict(object({ ...base, message_type: literal(type), ...members })),
    ]),
  )
}

/** The members of all envelopes; message types narrow some of them. */
export function baseMembers({ lenientIds = false }: EnvelopeRules = {}) {
  const id = lenientIds ? LenientId : MessageId
  return {
    message_id: id,
    message_type: literal(...messageTypes),
    sender_id: AgentId,
    recipient_id: AgentId,
    timestamp: Timestamp,
    payload: struct(),
    correlation_id: optional(nullable(id)),
    auth: optional(lenientIds ? LenientAuthenticationTag : AuthenticationTag),
  } satisfies Fields
}

export type MessageType = (typeof messageTypes)[number]

/** The members that each message type narrows. Version 1.0.0 lists two types without describing them. */
export function membersByType({
  version,
  lenientIds = false,
}: EnvelopeRules = {}): Partial<Record<MessageType, Fields>> {
  const id = lenientIds ? LenientId : MessageId
  const initial = (payload: Schema<unknown>): Fields => ({ payload, correlation_id: optional(nullValue()) })
  const answer = (payload: Schema<unknown>): Fields => ({ payload, correlation_id: id })
  const open = version !== '1.1.0'
  const registry = literal(registryId)
  return defined({
    request: initial(RequestPayload),
    response: answer(ResponsePayload),
    handshake: initial(HandshakePayload(version ?? '1.1.0')),
    error: answer(ErrorPayload),
    discover_agents: { recipient_id: registry, ...initial(DiscoverAgentsPayload({ open })) },
    agent_announcement: { sender_id: registry, ...answer(AgentAnnouncementPayload({ open })) },
    handshake_ack: version !== '1.0.0' ? answer(HandshakeAckPayload) : undefined,
    goodbye: version !== '1.0.0' ? initial(GoodbyePayload) : undefined,
  })
}

export const messageTypes = [
  'request',
  'response',
  'handshake',
  'handshake_ack',
  'error',
  'discover_agents',
  'agent_announcement',
  'goodbye',
] as const

export type MeshAuth = Infer<typeof AuthenticationTag>

/** The card of a mesh peer. */
export type MeshCard = Infer<(typeof MeshAgentCard)['1.1.0']>

/** Calls a method of a peer. */
export type MeshRequest = Envelope<'request', Infer<typeof RequestPayload>, null>

/** Answers a request with a result. */
export type MeshResponse = Answer<'response', Infer<typeof ResponsePayload>>

/** Opens a link: it carries the card of the sender. */
export type MeshHandshake = Envelope<'handshake', { readonly agent_card: MeshCard }, null>

/** Answers a handshake. */
export type MeshHandshakeAck = Answer<'handshake_ack', Infer<typeof HandshakeAckPayload>>

/** Answers an envelope with an error. */
export type MeshErrorMessage = Answer<'error', Infer<typeof ErrorPayload>>

/** Asks a peer for the agents that it knows. */
export type MeshDiscoverAgents = Envelope<'discover_agents', Infer<ReturnType<typeof DiscoverAgentsPayload>>, null>

/** Announces a peer, as the answer to `discover_agents`. */
export type MeshAgentAnnouncement = Answer<'agent_announcement', Infer<ReturnType<typeof AgentAnnouncementPayload>>>

/** Announces that a peer leaves. */
export type MeshGoodbye = Envelope<'goodbye', Infer<typeof GoodbyePayload>, null>

/** Any envelope that mesh peers exchange. */
export type MeshEnvelope =
  | MeshRequest
  | MeshResponse
  | MeshHandshake
  | MeshHandshakeAck
  | MeshErrorMessage
  | MeshDiscoverAgents
  | MeshAgentAnnouncement
  | MeshGoodbye

interface Envelope<Type extends MessageType, Payload, Correlation> {
  readonly message_id: string
  readonly message_type: Type
  readonly sender_id: string
  readonly recipient_id: string
  readonly timestamp: string
  readonly payload: Payload
  readonly correlation_id?: Correlation
  readonly auth?: MeshAuth
}

interface Answer<Type extends MessageType, Payload> extends Envelope<Type, Payload, string> {
  readonly correlation_id: string
}
