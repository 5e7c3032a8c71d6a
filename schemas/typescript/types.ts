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
  /** The agent that signed. It equals the `sender_id` of the message. */
  agent_id: MeshAgentId
  /** When the agent signed. */
  timestamp: MeshDateTime
  /** A random value against replay. */
  nonce: MeshNonce
  /** The signature over the canonical form of the message. */
  signature: MeshSignature
  /** Selects the key among several keys of the agent. */
  public_key_fingerprint?: MeshFingerprint
}

/** The members of all envelopes. */
export interface MeshBaseMessage {
  /** The unique id of this message. */
  message_id: MeshMessageId
  /** The kind of the message. It determines the payload. */
  message_type: 'request' | 'response' | 'handshake' | 'handshake_ack' | 'error' | 'discover_agents' | 'agent_announcement' | 'goodbye'
  /** The agent that sends the message. */
  sender_id: MeshAgentId
  /** The agent that the message is addressed to. */
  recipient_id: MeshAgentId
  /** When the sender created the message. */
  timestamp: MeshTimestamp
  /** The content, as the message type defines it. */
  payload: Record<string, any>
  /** The `message_id` of the message that this one answers. */
  correlation_id?: MeshMessageId | null
  /** The signature of the sender. */
  auth?: MeshAuthenticationTag
}

/** The method to call and its parameters. */
export type MeshRequestPayload = {
  /** The method to call. */
  method: string
  /** The parameters of the method. Defaults to an empty object. */
  parameters?: Record<string, any>
}

/** Calls a method of an agent. */
export interface MeshRequestMessage extends MeshBaseMessage {
  /** The kind of the message. It determines the payload. */
  message_type: 'request'
  /** The content, as the message type defines it. */
  payload: MeshRequestPayload
  /** The `message_id` of the message that this one answers. */
  correlation_id?: null
}

/** The request succeeded. */
export type MeshSuccessResponsePayload = {
  /** `success`: the result is in `data`. */
  status: 'success'
  /** The result of the method. */
  data: Record<string, any>
}

/** A machine-readable error code. The standard codes are INVALID_MESSAGE, VALIDATION_FAILED, AUTHENTICATION_FAILED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, RATE_LIMIT_EXCEEDED, PAYLOAD_TOO_LARGE, INTERNAL_ERROR, SERVICE_UNAVAILABLE and TIMEOUT; agents may define their own. */
export type MeshErrorCode = string

/** Why a request failed. */
export type MeshErrorObject = {
  /** The error code. */
  code: MeshErrorCode
  /** A sentence for people. */
  message: string
  /** More about the error, for programs. */
  details?: Record<string, any>
}

/** The agent understood the request and rejected it. */
export type MeshErrorResponsePayload = {
  /** `error`: the reason is in `error`. */
  status: 'error'
  /** Why the agent rejected the request. */
  error: MeshErrorObject
}

/** The result of a request: data or an error. */
export type MeshResponsePayload = MeshSuccessResponsePayload | MeshErrorResponsePayload

/** Answers a request. */
export interface MeshResponseMessage extends MeshBaseMessage {
  /** The kind of the message. It determines the payload. */
  message_type: 'response'
  /** The content, as the message type defines it. */
  payload: MeshResponsePayload
  /** The `message_id` of the message that this one answers. */
  correlation_id: MeshMessageId
}

/** Major, minor and patch version. */
export type MeshSemanticVersion = string

/** How an agent describes itself in a handshake. This is not the A2A agent card. */
export type MeshAgentCard = {
  /** The id under which the agent sends and receives. */
  agent_id: MeshAgentId
  /** The name of the agent for people. */
  name: string
  /** The version of the agent. */
  version: MeshSemanticVersion
  /** What the agent does. */
  description: string
  /** What the agent can do, in words that a registry searches. */
  capabilities: string[]
  /** The protocol versions that the agent speaks. */
  supported_protocols: string[]
  /** Anything else about the agent. */
  metadata?: Record<string, any>
  /** The schema versions that the agent knows. */
  schema_versions?: MeshSemanticVersion[]
}

/** Starts a session between two agents. */
export type MeshHandshakePayload = {
  /** The card of the agent that starts the session. */
  agent_card: MeshAgentCard
}

/** Introduces the sender. */
export interface MeshHandshakeMessage extends MeshBaseMessage {
  /** The kind of the message. It determines the payload. */
  message_type: 'handshake'
  /** The content, as the message type defines it. */
  payload: MeshHandshakePayload
  /** The `message_id` of the message that this one answers. */
  correlation_id?: null
}

/** The answering agent, and the versions that both agents will use. */
export type MeshHandshakeAccepted = {
  /** `true`: the session is open. */
  accepted: true
  /** The card of the answering agent. */
  agent_card: MeshAgentCard
  /** The highest protocol version that both agents speak. */
  selected_protocol: string
  /** The highest schema version that both agents know. */
  schema_version?: MeshSemanticVersion
  /** A remark on the answer. */
  reason?: string
}

/** The answering agent rejects the handshake. */
export type MeshHandshakeRefused = {
  /** `false`: there is no session. */
  accepted: false
  /** The card of the answering agent. */
  agent_card?: MeshAgentCard
  /** The highest protocol version that both agents speak. */
  selected_protocol?: string
  /** The highest schema version that both agents know. */
  schema_version?: MeshSemanticVersion
  /** Why the agent rejects the handshake. */
  reason?: string
}

/** The answer to a handshake. */
export type MeshHandshakeAckPayload = MeshHandshakeAccepted | MeshHandshakeRefused

/** Answers a handshake. */
export interface MeshHandshakeAckMessage extends MeshBaseMessage {
  /** The kind of the message. It determines the payload. */
  message_type: 'handshake_ack'
  /** The content, as the message type defines it. */
  payload: MeshHandshakeAckPayload
  /** The `message_id` of the message that this one answers. */
  correlation_id: MeshMessageId
}

/** An absolute HTTP URL without credentials. */
export type MeshHttpUrl = string

/** Why a message was rejected, when to retry (in seconds), and where to read more. */
export type MeshErrorDetails = {
  /** The error code. */
  code: MeshErrorCode
  /** A sentence for people. */
  message: string
  /** More about the error, for programs. */
  details?: Record<string, any>
  /** The number of seconds to wait before a retry. */
  retry_after?: number
  /** A page that explains the error. */
  documentation_url?: MeshHttpUrl
}

/** A protocol violation, or an agent that cannot answer. */
export type MeshErrorPayload = {
  /** What went wrong. */
  error: MeshErrorDetails
}

/** Reports that a message was rejected or could not be handled. */
export interface MeshErrorMessage extends MeshBaseMessage {
  /** The kind of the message. It determines the payload. */
  message_type: 'error'
  /** The content, as the message type defines it. */
  payload: MeshErrorPayload
  /** The `message_id` of the message that this one answers. */
  correlation_id: MeshMessageId
}

/** Narrows the search. Defaults to all agents, up to 100. */
export type MeshDiscoverFilters = {
  /** The health of the agents to list. Defaults to `all`. */
  status?: 'healthy' | 'unhealthy' | 'all'
  /** The number of agents to list. Defaults to 100. */
  max_results?: number
}

/** Searches the registry for agents with all of these capabilities. */
export type MeshDiscoverAgentsPayload = {
  /** The capabilities that an agent must have, all of them. */
  capabilities?: string[]
  /** Further conditions. */
  filters?: MeshDiscoverFilters
}

/** Searches the registry for agents. */
export interface MeshDiscoverAgentsMessage extends MeshBaseMessage {
  /** The kind of the message. It determines the payload. */
  message_type: 'discover_agents'
  /** The agent that the message is addressed to. */
  recipient_id: 'registry'
  /** The content, as the message type defines it. */
  payload: MeshDiscoverAgentsPayload
  /** The `message_id` of the message that this one answers. */
  correlation_id?: null
}

/** An agent in the registry. */
export type MeshAgentInfo = {
  /** The id of the agent. */
  agent_id: MeshAgentId
  /** The name of the agent for people. */
  name: string
  /** What the agent can do. */
  capabilities: string[]
  /** Whether the agent answered its last health check. */
  status: 'healthy' | 'unhealthy'
  /** Where the agent receives messages. */
  endpoint: MeshHttpUrl
  /** When the registry last heard from the agent. */
  last_heartbeat?: MeshDateTime
}

/** The agents found. `total_count` includes agents beyond `max_results`. */
export type MeshAgentAnnouncementPayload = {
  /** The agents found, up to `max_results`. */
  agents: MeshAgentInfo[]
  /** The number of agents that match. */
  total_count: number
  /** The duration of the search in milliseconds. */
  query_time_ms?: number
}

/** Answers discovery. */
export interface MeshAgentAnnouncementMessage extends MeshBaseMessage {
  /** The kind of the message. It determines the payload. */
  message_type: 'agent_announcement'
  /** The agent that sends the message. */
  sender_id: 'registry'
  /** The content, as the message type defines it. */
  payload: MeshAgentAnnouncementPayload
  /** The `message_id` of the message that this one answers. */
  correlation_id: MeshMessageId
}

/** The sender disconnects, and may return after a number of seconds. */
export type MeshGoodbyePayload = {
  /** Why the sender disconnects. */
  reason?: string
  /** The number of seconds after which the sender may return. */
  reconnect_after?: number
}

/** Ends a session. */
export interface MeshGoodbyeMessage extends MeshBaseMessage {
  /** The kind of the message. It determines the payload. */
  message_type: 'goodbye'
  /** The content, as the message type defines it. */
  payload: MeshGoodbyePayload
  /** The `message_id` of the message that this one answers. */
  correlation_id?: null
}

/** A signed envelope. */
export interface MeshAuthenticatedMessage extends MeshBaseMessage {
  /** The signature of the sender. */
  auth: MeshAuthenticationTag
}
