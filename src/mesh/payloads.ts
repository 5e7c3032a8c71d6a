import { anyObject, defaulting, flag, list, named, number, text, word } from './form.ts'
import { choice, object, optional } from './object-form.ts'
import { AgentId, DateTime, ErrorCode, Fingerprint, HttpUrl, Nonce, SemanticVersion, Signature } from './values.ts'

/** The payloads of the eight messages. What differs between the versions of the schemas is made by a function. */

export const AuthenticationTag = named(
  'AuthenticationTag',
  object({
    agent_id: AgentId,
    timestamp: DateTime,
    nonce: Nonce,
    signature: Signature,
    public_key_fingerprint: optional(Fingerprint),
  }),
  'Who signed the envelope. `agent_id` equals the `sender_id` of the envelope.',
)

export const RequestPayload = named(
  'RequestPayload',
  object({ method: text({ min: 1, max: 128 }), parameters: optional(anyObject()) }),
  'Which method is called, and with what.',
)

const ErrorObject = named(
  'ErrorObject',
  object({ code: ErrorCode, message: text({ min: 1 }), details: optional(anyObject()) }),
  'Why a request was not fulfilled.',
)

const SuccessResponsePayload = named(
  'SuccessResponsePayload',
  object({ status: word('success'), data: anyObject() }),
  'The request was fulfilled.',
)

const ErrorResponsePayload = named(
  'ErrorResponsePayload',
  object({ status: word('error'), error: ErrorObject }),
  'The agent understood the request and did not fulfil it.',
)

export const ResponsePayload = named(
  'ResponsePayload',
  choice('status', { success: SuccessResponsePayload, error: ErrorResponsePayload }),
  'What came of a request: data, or an error.',
)

export type SchemaVersion = '1.0.0' | '1.1.0'

const cardMembers = {
  agent_id: AgentId,
  name: text({ min: 1, max: 100 }),
  version: SemanticVersion,
  description: text({ max: 500 }),
  capabilities: list(text(), { min: 1, max: 50 }),
  supported_protocols: list(text(), { min: 1 }),
  metadata: optional(anyObject()),
}

const aboutCard = 'What an agent says of itself when it shakes hands. This is not the agent card of A2A.'

export const AgentCard = {
  '1.0.0': named('AgentCard', object(cardMembers), aboutCard),
  '1.1.0': named(
    'AgentCard',
    object({ ...cardMembers, schema_versions: optional(list(SemanticVersion, { min: 1 })) }),
    aboutCard,
  ),
}

export const HandshakePayload = (version: SchemaVersion) =>
  named('HandshakePayload', object({ agent_card: AgentCard[version] }), 'Opens a conversation between two agents.')

const HandshakeAccepted = named(
  'HandshakeAccepted',
  object({
    accepted: flag(true),
    agent_card: AgentCard['1.1.0'],
    selected_protocol: text({ min: 1 }),
    schema_version: optional(SemanticVersion),
    reason: optional(text({ max: 500 })),
  }),
  'The answering agent, and the versions that both will speak.',
)

const HandshakeRefused = named(
  'HandshakeRefused',
  object({
    accepted: flag(false),
    agent_card: optional(AgentCard['1.1.0']),
    selected_protocol: optional(text({ min: 1 })),
    schema_version: optional(SemanticVersion),
    reason: optional(text({ max: 500 })),
  }),
  'The answering agent does not want to talk.',
)

export const HandshakeAckPayload = named(
  'HandshakeAckPayload',
  choice('accepted', { true: HandshakeAccepted, false: HandshakeRefused }),
  'The answer to a handshake.',
)

const ErrorDetails = named(
  'ErrorDetails',
  object({
    code: ErrorCode,
    message: text({ min: 1, max: 500 }),
    details: optional(anyObject()),
    retry_after: optional(number({ min: 0, integer: true })),
    documentation_url: optional(HttpUrl),
  }),
  'What is wrong with a message, when to try again (in seconds), and where to read more.',
)

export const ErrorPayload = named(
  'ErrorPayload',
  object({ error: ErrorDetails }),
  'The protocol was broken, or the agent cannot answer at all.',
)

/** Whether objects that version 1.0.0 left open may have members that nobody described. */
export interface Openness {
  readonly open: boolean
}

export const DiscoverAgentsPayload = ({ open }: Openness) => {
  const members = {
    status: optional(defaulting(word('healthy', 'unhealthy', 'all'), 'all')),
    max_results: optional(defaulting(number({ min: 1, max: 100, integer: true }), 100)),
  }
  const filters = named('DiscoverFilters', object(members, { open }), 'Narrows the search. Without it: all, up to 100.')
  return named(
    'DiscoverAgentsPayload',
    object({ capabilities: optional(list(text())), filters: optional(filters) }),
    'Asks the registry for agents that have all of these capabilities.',
  )
}

export const AgentAnnouncementPayload = ({ open }: Openness) => {
  const members = {
    agent_id: AgentId,
    name: text(),
    capabilities: list(text()),
    status: word('healthy', 'unhealthy'),
    endpoint: HttpUrl,
    last_heartbeat: optional(DateTime),
  }
  const info = named('AgentInfo', object(members, { open }), 'An agent that the registry knows.')
  return named(
    'AgentAnnouncementPayload',
    object({
      agents: list(info),
      total_count: number({ min: 0, integer: true }),
      query_time_ms: optional(number({ min: 0 })),
    }),
    'What the registry found. `total_count` also counts what did not fit.',
  )
}

export const GoodbyePayload = named(
  'GoodbyePayload',
  object({ reason: optional(text({ max: 500 })), reconnect_after: optional(number({ min: 0, integer: true })) }),
  'The sender leaves, perhaps to come back after so many seconds.',
)
