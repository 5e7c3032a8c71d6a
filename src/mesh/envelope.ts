import { type Fields, object, optional } from '../schema/object.ts'
import { type Infer, type Schema, struct } from '../schema/schema.ts'
import { nullable, nullValue, type StrictSchema, strict } from '../schema/strict.ts'
import { literal } from '../schema/tagged.ts'
import {
  AgentAnnouncementPayload,
  type AgentCard,
  AgentId,
  AuthenticationTag,
  DiscoverAgentsPayload,
  ErrorPayload,
  GoodbyePayload,
  HandshakeAckPayload,
  HandshakePayload,
  LenientId,
  MessageId,
  RequestPayload,
  ResponsePayload,
  type SchemaVersion,
  Timestamp,
} from './payloads.ts'

/** The name under which discovery is asked and answered. */
const registryId = 'registry'

export interface EnvelopeRules {
  /** Without it, what either version allows. */
  readonly version?: SchemaVersion
  /** Also take ids of 36 digits and letters that are no UUIDs, as old traffic has them. */
  readonly lenientIds?: boolean
}

export type EnvelopeSchemas = ReadonlyMap<unknown, StrictSchema<unknown>>

/** Made once: the form of a whole envelope by its type. */
export function createEnvelopeSchemas(rules: EnvelopeRules = {}): EnvelopeSchemas {
  const base = baseMembers(rules)
  return new Map(
    Object.entries(narrowings(rules)).map(([type, members]) => [
      type,
      strict(object({ ...base, message_type: literal(type), ...members })),
    ]),
  )
}

/** What all envelopes have; a type narrows some of it. */
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
    auth: optional(AuthenticationTag),
  } satisfies Fields
}

export type MessageType = (typeof messageTypes)[number]

/** What each type demands beyond the base. Version 1.0.0 names two types that it does not describe. */
export function narrowings({ version, lenientIds = false }: EnvelopeRules = {}): Partial<Record<MessageType, Fields>> {
  const id = lenientIds ? LenientId : MessageId
  const opening = (payload: Schema<unknown>): Fields => ({ payload, correlation_id: optional(nullValue()) })
  const answering = (payload: Schema<unknown>): Fields => ({ payload, correlation_id: id })
  const open = version !== '1.1.0'
  const registry = literal(registryId)
  return {
    request: opening(RequestPayload),
    response: answering(ResponsePayload),
    handshake: opening(HandshakePayload(version ?? '1.1.0')),
    error: answering(ErrorPayload),
    discover_agents: { recipient_id: registry, ...opening(DiscoverAgentsPayload({ open })) },
    agent_announcement: { sender_id: registry, ...answering(AgentAnnouncementPayload({ open })) },
    ...(version !== '1.0.0' && { handshake_ack: answering(HandshakeAckPayload), goodbye: opening(GoodbyePayload) }),
  }
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

export type MeshCard = Infer<(typeof AgentCard)['1.1.0']>

export type MeshRequest = Envelope<'request', Infer<typeof RequestPayload>, null>

export type MeshResponse = Answer<'response', Infer<typeof ResponsePayload>>

export type MeshHandshake = Envelope<'handshake', { readonly agent_card: MeshCard }, null>

export type MeshHandshakeAck = Answer<'handshake_ack', Infer<typeof HandshakeAckPayload>>

export type MeshErrorMessage = Answer<'error', Infer<typeof ErrorPayload>>

export type MeshDiscoverAgents = Envelope<'discover_agents', Infer<ReturnType<typeof DiscoverAgentsPayload>>, null>

export type MeshAgentAnnouncement = Answer<'agent_announcement', Infer<ReturnType<typeof AgentAnnouncementPayload>>>

export type MeshGoodbye = Envelope<'goodbye', Infer<typeof GoodbyePayload>, null>

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
