/** Made by schemas/build from the JSON Schemas of version 1.1.0: do not edit. */

/** A UUID of version 4 in lower case. No two messages have the same one. */
export type MeshMessageId = string

/** The name of an agent in the mesh. "registry" is the agent that answers discovery. */
export type MeshAgentId = string

/** A moment in UTC, to the second or to the millisecond, with Z at the end. */
export type MeshTimestamp = string

/** A moment as RFC 3339 writes it, in any zone. */
export type MeshDateTime = string

/** Sixteen random bytes in hexadecimal digits, never used twice with one key. */
export type MeshNonce = string

/** The signature over the canonical form (RFC 8785) of the whole envelope without this member, in base64. */
export type MeshSignature = string

/** The SHA-256 of the public key as DER SPKI, or the beginning of it. It selects a key and proves nothing. */
export type MeshFingerprint = string

/** Who signed the envelope. `agent_id` equals the `sender_id` of the envelope. */
export type MeshAuthenticationTag = {
  readonly agent_id: MeshAgentId
  readonly timestamp: MeshDateTime
  readonly nonce: MeshNonce
  readonly signature: MeshSignature
  readonly public_key_fingerprint?: MeshFingerprint
}

/** What all envelopes have. */
export interface MeshBaseMessage {
  readonly message_id: MeshMessageId
  readonly message_type: 'request' | 'response' | 'handshake' | 'handshake_ack' | 'error' | 'discover_agents' | 'agent_announcement' | 'goodbye'
  readonly sender_id: MeshAgentId
  readonly recipient_id: MeshAgentId
  readonly timestamp: MeshTimestamp
  readonly payload: Readonly<Record<string, unknown>>
  readonly correlation_id?: MeshMessageId | null
  readonly auth?: MeshAuthenticationTag
}

/** Which method is called, and with what. */
export type MeshRequestPayload = {
  readonly method: string
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** Asks an agent to do something. */
export interface MeshRequestMessage extends MeshBaseMessage {
  readonly message_type: 'request'
  readonly payload: MeshRequestPayload
  readonly correlation_id?: null
}

/** The request was fulfilled. */
export type MeshSuccessResponsePayload = {
  readonly status: 'success'
  readonly data: Readonly<Record<string, unknown>>
}

/** What went wrong, for programs. The standard codes are INVALID_MESSAGE, VALIDATION_FAILED, AUTHENTICATION_FAILED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, RATE_LIMIT_EXCEEDED, PAYLOAD_TOO_LARGE, INTERNAL_ERROR, SERVICE_UNAVAILABLE and TIMEOUT; agents may have their own. */
export type MeshErrorCode = string

/** Why a request was not fulfilled. */
export type MeshErrorObject = {
  readonly code: MeshErrorCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** The agent understood the request and did not fulfil it. */
export type MeshErrorResponsePayload = {
  readonly status: 'error'
  readonly error: MeshErrorObject
}

/** What came of a request: data, or an error. */
export type MeshResponsePayload = MeshSuccessResponsePayload | MeshErrorResponsePayload

/** Answers a request. */
export interface MeshResponseMessage extends MeshBaseMessage {
  readonly message_type: 'response'
  readonly payload: MeshResponsePayload
  readonly correlation_id: MeshMessageId
}

/** Major, minor and patch version. */
export type MeshSemanticVersion = string

/** What an agent says of itself when it shakes hands. This is not the agent card of A2A. */
export type MeshAgentCard = {
  readonly agent_id: MeshAgentId
  readonly name: string
  readonly version: MeshSemanticVersion
  readonly description: string
  readonly capabilities: readonly string[]
  readonly supported_protocols: readonly string[]
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly schema_versions?: readonly MeshSemanticVersion[]
}

/** Opens a conversation between two agents. */
export type MeshHandshakePayload = {
  readonly agent_card: MeshAgentCard
}

/** Introduces the sender. */
export interface MeshHandshakeMessage extends MeshBaseMessage {
  readonly message_type: 'handshake'
  readonly payload: MeshHandshakePayload
  readonly correlation_id?: null
}

/** The answering agent, and the versions that both will speak. */
export type MeshHandshakeAccepted = {
  readonly accepted: true
  readonly agent_card: MeshAgentCard
  readonly selected_protocol: string
  readonly schema_version?: MeshSemanticVersion
  readonly reason?: string
}

/** The answering agent does not want to talk. */
export type MeshHandshakeRefused = {
  readonly accepted: false
  readonly agent_card?: MeshAgentCard
  readonly selected_protocol?: string
  readonly schema_version?: MeshSemanticVersion
  readonly reason?: string
}

/** The answer to a handshake. */
export type MeshHandshakeAckPayload = MeshHandshakeAccepted | MeshHandshakeRefused

/** Answers a handshake. */
export interface MeshHandshakeAckMessage extends MeshBaseMessage {
  readonly message_type: 'handshake_ack'
  readonly payload: MeshHandshakeAckPayload
  readonly correlation_id: MeshMessageId
}

/** An absolute URL of HTTP, without user and password. */
export type MeshHttpUrl = string

/** What is wrong with a message, when to try again (in seconds), and where to read more. */
export type MeshErrorDetails = {
  readonly code: MeshErrorCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly retry_after?: number
  readonly documentation_url?: MeshHttpUrl
}

/** The protocol was broken, or the agent cannot answer at all. */
export type MeshErrorPayload = {
  readonly error: MeshErrorDetails
}

/** Says that a message was refused or could not be handled. */
export interface MeshErrorMessage extends MeshBaseMessage {
  readonly message_type: 'error'
  readonly payload: MeshErrorPayload
  readonly correlation_id: MeshMessageId
}

/** Narrows the search. Without it: all, up to 100. */
export type MeshDiscoverFilters = {
  readonly status?: 'healthy' | 'unhealthy' | 'all'
  readonly max_results?: number
}

/** Asks the registry for agents that have all of these capabilities. */
export type MeshDiscoverAgentsPayload = {
  readonly capabilities?: readonly string[]
  readonly filters?: MeshDiscoverFilters
}

/** Asks the registry who is there. */
export interface MeshDiscoverAgentsMessage extends MeshBaseMessage {
  readonly message_type: 'discover_agents'
  readonly recipient_id: 'registry'
  readonly payload: MeshDiscoverAgentsPayload
  readonly correlation_id?: null
}

/** An agent that the registry knows. */
export type MeshAgentInfo = {
  readonly agent_id: MeshAgentId
  readonly name: string
  readonly capabilities: readonly string[]
  readonly status: 'healthy' | 'unhealthy'
  readonly endpoint: MeshHttpUrl
  readonly last_heartbeat?: MeshDateTime
}

/** What the registry found. `total_count` also counts what did not fit. */
export type MeshAgentAnnouncementPayload = {
  readonly agents: readonly MeshAgentInfo[]
  readonly total_count: number
  readonly query_time_ms?: number
}

/** Answers discovery. */
export interface MeshAgentAnnouncementMessage extends MeshBaseMessage {
  readonly message_type: 'agent_announcement'
  readonly sender_id: 'registry'
  readonly payload: MeshAgentAnnouncementPayload
  readonly correlation_id: MeshMessageId
}

/** The sender leaves, perhaps to come back after so many seconds. */
export type MeshGoodbyePayload = {
  readonly reason?: string
  readonly reconnect_after?: number
}

/** Takes leave. */
export interface MeshGoodbyeMessage extends MeshBaseMessage {
  readonly message_type: 'goodbye'
  readonly payload: MeshGoodbyePayload
  readonly correlation_id?: null
}

/** An envelope that somebody signed. */
export interface MeshAuthenticatedMessage extends MeshBaseMessage {
  readonly auth: MeshAuthenticationTag
}
