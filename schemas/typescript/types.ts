/** Made by schemas/build from the JSON Schemas of version 1.1.0: do not edit. */

/** A UUID of version 4 in lower case, unique per message. */
export type MeshMessageId = string

/** The id of an agent in the mesh. "registry" is the agent that answers discovery. */
export type MeshAgentId = string

/** A time in UTC with a precision of seconds or milliseconds, ending in Z. */
export type MeshTimestamp = string

/** A time as in RFC 3339, in any time zone. */
export type MeshDateTime = string

/** Sixteen random bytes in hexadecimal, never used twice with one key. */
export type MeshNonce = string

/** The signature over the canonical form (RFC 8785) of the envelope without this member, in base64. */
export type MeshSignature = string

/** The SHA-256 of the public key as DER SPKI, or its first digits. It selects a key and proves nothing. */
export type MeshFingerprint = string

/** Identifies the signer. `agent_id` equals the `sender_id` of the envelope. */
export type MeshAuthenticationTag = {
  readonly agent_id: MeshAgentId
  readonly timestamp: MeshDateTime
  readonly nonce: MeshNonce
  readonly signature: MeshSignature
  readonly public_key_fingerprint?: MeshFingerprint
}

/** The members of all envelopes. */
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

/** The method to call and its parameters. */
export type MeshRequestPayload = {
  readonly method: string
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** Calls a method of an agent. */
export interface MeshRequestMessage extends MeshBaseMessage {
  readonly message_type: 'request'
  readonly payload: MeshRequestPayload
  readonly correlation_id?: null
}

/** The request succeeded. */
export type MeshSuccessResponsePayload = {
  readonly status: 'success'
  readonly data: Readonly<Record<string, unknown>>
}

/** A machine-readable error code. The standard codes are INVALID_MESSAGE, VALIDATION_FAILED, AUTHENTICATION_FAILED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, RATE_LIMIT_EXCEEDED, PAYLOAD_TOO_LARGE, INTERNAL_ERROR, SERVICE_UNAVAILABLE and TIMEOUT; agents may define their own. */
export type MeshErrorCode = string

/** Why a request failed. */
export type MeshErrorObject = {
  readonly code: MeshErrorCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** The agent understood the request and rejected it. */
export type MeshErrorResponsePayload = {
  readonly status: 'error'
  readonly error: MeshErrorObject
}

/** The result of a request: data or an error. */
export type MeshResponsePayload = MeshSuccessResponsePayload | MeshErrorResponsePayload

/** Answers a request. */
export interface MeshResponseMessage extends MeshBaseMessage {
  readonly message_type: 'response'
  readonly payload: MeshResponsePayload
  readonly correlation_id: MeshMessageId
}

/** Major, minor and patch version. */
export type MeshSemanticVersion = string

/** How an agent describes itself in a handshake. This is not the A2A agent card. */
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

/** Starts a session between two agents. */
export type MeshHandshakePayload = {
  readonly agent_card: MeshAgentCard
}

/** Introduces the sender. */
export interface MeshHandshakeMessage extends MeshBaseMessage {
  readonly message_type: 'handshake'
  readonly payload: MeshHandshakePayload
  readonly correlation_id?: null
}

/** The answering agent, and the versions that both agents will use. */
export type MeshHandshakeAccepted = {
  readonly accepted: true
  readonly agent_card: MeshAgentCard
  readonly selected_protocol: string
  readonly schema_version?: MeshSemanticVersion
  readonly reason?: string
}

/** The answering agent rejects the handshake. */
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

/** An absolute HTTP URL without credentials. */
export type MeshHttpUrl = string

/** Why a message was rejected, when to retry (in seconds), and where to read more. */
export type MeshErrorDetails = {
  readonly code: MeshErrorCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly retry_after?: number
  readonly documentation_url?: MeshHttpUrl
}

/** A protocol violation, or an agent that cannot answer. */
export type MeshErrorPayload = {
  readonly error: MeshErrorDetails
}

/** Reports that a message was rejected or could not be handled. */
export interface MeshErrorMessage extends MeshBaseMessage {
  readonly message_type: 'error'
  readonly payload: MeshErrorPayload
  readonly correlation_id: MeshMessageId
}

/** Narrows the search. Defaults to all agents, up to 100. */
export type MeshDiscoverFilters = {
  readonly status?: 'healthy' | 'unhealthy' | 'all'
  readonly max_results?: number
}

/** Searches the registry for agents with all of these capabilities. */
export type MeshDiscoverAgentsPayload = {
  readonly capabilities?: readonly string[]
  readonly filters?: MeshDiscoverFilters
}

/** Searches the registry for agents. */
export interface MeshDiscoverAgentsMessage extends MeshBaseMessage {
  readonly message_type: 'discover_agents'
  readonly recipient_id: 'registry'
  readonly payload: MeshDiscoverAgentsPayload
  readonly correlation_id?: null
}

/** An agent in the registry. */
export type MeshAgentInfo = {
  readonly agent_id: MeshAgentId
  readonly name: string
  readonly capabilities: readonly string[]
  readonly status: 'healthy' | 'unhealthy'
  readonly endpoint: MeshHttpUrl
  readonly last_heartbeat?: MeshDateTime
}

/** The agents found. `total_count` includes agents beyond `max_results`. */
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

/** The sender disconnects, and may return after a number of seconds. */
export type MeshGoodbyePayload = {
  readonly reason?: string
  readonly reconnect_after?: number
}

/** Ends a session. */
export interface MeshGoodbyeMessage extends MeshBaseMessage {
  readonly message_type: 'goodbye'
  readonly payload: MeshGoodbyePayload
  readonly correlation_id?: null
}

/** A signed envelope. */
export interface MeshAuthenticatedMessage extends MeshBaseMessage {
  readonly auth: MeshAuthenticationTag
}
