import {
  anyObject,
  type Form,
  type Members,
  nothing,
  object,
  optional,
  orNull,
  type ValueOf,
  word,
} from '../schema/strict.ts'
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
export type MessageType = (typeof messageTypes)[number]

/** The name under which discovery is asked and answered. */
const registryId = 'registry'

export type MeshAuth = ValueOf<typeof AuthenticationTag>
export type MeshCard = ValueOf<(typeof AgentCard)['1.1.0']>

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

export type MeshRequest = Envelope<'request', ValueOf<typeof RequestPayload>, null>
export type MeshResponse = Answer<'response', ValueOf<typeof ResponsePayload>>
export type MeshHandshake = Envelope<'handshake', { readonly agent_card: MeshCard }, null>
export type MeshHandshakeAck = Answer<'handshake_ack', ValueOf<typeof HandshakeAckPayload>>
export type MeshErrorMessage = Answer<'error', ValueOf<typeof ErrorPayload>>
export type MeshDiscoverAgents = Envelope<'discover_agents', ValueOf<ReturnType<typeof DiscoverAgentsPayload>>, null>
export type MeshAgentAnnouncement = Answer<'agent_announcement', ValueOf<ReturnType<typeof AgentAnnouncementPayload>>>
export type MeshGoodbye = Envelope<'goodbye', ValueOf<typeof GoodbyePayload>, null>

export type MeshEnvelope =
  | MeshRequest
  | MeshResponse
  | MeshHandshake
  | MeshHandshakeAck
  | MeshErrorMessage
  | MeshDiscoverAgents
  | MeshAgentAnnouncement
  | MeshGoodbye

export interface EnvelopeRules {
  /** Without it, what either version allows. */
  readonly version?: SchemaVersion
  /** Also take ids of 36 digits and letters that are no UUIDs, as old traffic has them. */
  readonly lenientIds?: boolean
}

/** What all envelopes have; a type narrows some of it. */
export function baseMembers({ lenientIds = false }: EnvelopeRules = {}) {
  const id = lenientIds ? LenientId : MessageId
  return {
    message_id: id,
    message_type: word(...messageTypes),
    sender_id: AgentId,
    recipient_id: AgentId,
    timestamp: Timestamp,
    payload: anyObject(),
    correlation_id: optional(orNull(id)),
    auth: optional(AuthenticationTag),
  } satisfies Members
}

/** What each type demands beyond the base. Version 1.0.0 names two types that it does not describe. */
export function narrowings({ version, lenientIds = false }: EnvelopeRules = {}): Partial<Record<MessageType, Members>> {
  const id = lenientIds ? LenientId : MessageId
  const opening = (payload: Form<unknown>): Members => ({ payload, correlation_id: optional(nothing()) })
  const answering = (payload: Form<unknown>): Members => ({ payload, correlation_id: id })
  const open = version !== '1.1.0'
  const registry = word(registryId)
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

export type EnvelopeForms = ReadonlyMap<unknown, Form<unknown>>

/** Made once: the form of a whole envelope by its type. */
export function envelopeForms(rules: EnvelopeRules = {}): EnvelopeForms {
  const base = baseMembers(rules)
  return new Map(
    Object.entries(narrowings(rules)).map(([type, members]) => [
      type,
      object({ ...base, message_type: word(type), ...members }),
    ]),
  )
}
