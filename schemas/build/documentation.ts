import { isSchema, type Schema } from './base.ts'
import { signature, specimens } from './specimens.ts'

/** The description and an example of each member, by the title of its schema. */
type Members = Readonly<Record<string, readonly [description: string, example: unknown]>>

const { request, response, handshake, handshake_ack, error, discover_agents, agent_announcement, goodbye } = specimens
const card = handshake.payload.agent_card
const [info] = agent_announcement.payload.agents

const answerMembers = {
  agent_card: ['The card of the answering agent.', card],
  selected_protocol: ['The highest protocol version that both agents speak.', 'A2A/1.0'],
  schema_version: ['The highest schema version that both agents know.', '1.1.0'],
} satisfies Members

const documentation: Readonly<Record<string, Members>> = {
  BaseMessage: {
    message_id: ['The unique id of this message.', request.message_id],
    message_type: ['The kind of the message. It determines the payload.', request.message_type],
    sender_id: ['The agent that sends the message.', request.sender_id],
    recipient_id: ['The agent that the message is addressed to.', request.recipient_id],
    timestamp: ['When the sender created the message.', request.timestamp],
    payload: ['The content, as the message type defines it.', request.payload],
    correlation_id: ['The `message_id` of the message that this one answers.', response.correlation_id],
    auth: ['The signature of the sender.', signature],
  },
  AuthenticationTag: {
    agent_id: ['The agent that signed. It equals the `sender_id` of the message.', signature.agent_id],
    timestamp: ['When the agent signed.', signature.timestamp],
    nonce: ['A random value against replay.', signature.nonce],
    signature: ['The signature over the canonical form of the message.', signature.signature],
    public_key_fingerprint: ['Selects the key among several keys of the agent.', signature.public_key_fingerprint],
  },
  RequestPayload: {
    method: ['The method to call.', request.payload.method],
    parameters: ['The parameters of the method. Defaults to an empty object.', request.payload.parameters],
  },
  ErrorObject: {
    code: ['The error code.', 'INVALID_CURRENCY'],
    message: ['A sentence for people.', 'The currency XYZ is not supported.'],
    details: ['More about the error, for programs.', { supported_currencies: ['EUR', 'USD'] }],
  },
  SuccessResponsePayload: {
    status: ['`success`: the result is in `data`.', 'success'],
    data: ['The result of the method.', Object(response.payload).data],
  },
  ErrorResponsePayload: {
    status: ['`error`: the reason is in `error`.', 'error'],
    error: ['Why the agent rejected the request.', { code: 'NOT_FOUND', message: 'There is no symbol XYZ.' }],
  },
  AgentCard: {
    agent_id: ['The id under which the agent sends and receives.', card.agent_id],
    name: ['The name of the agent for people.', card.name],
    version: ['The version of the agent.', card.version],
    description: ['What the agent does.', card.description],
    capabilities: ['What the agent can do, in words that a registry searches.', card.capabilities],
    supported_protocols: ['The protocol versions that the agent speaks.', card.supported_protocols],
    metadata: ['Anything else about the agent.', { region: 'eu-west' }],
    schema_versions: ['The schema versions that the agent knows.', ['1.0.0', '1.1.0']],
  },
  HandshakePayload: { agent_card: ['The card of the agent that starts the session.', card] },
  HandshakeAccepted: {
    accepted: ['`true`: the session is open.', true],
    ...answerMembers,
    reason: ['A remark on the answer.', 'Protocol A2A/1.1 is not enabled here.'],
  },
  HandshakeRefused: {
    accepted: ['`false`: there is no session.', false],
    ...answerMembers,
    reason: ['Why the agent rejects the handshake.', 'There is no common protocol version.'],
  },
  ErrorDetails: {
    code: ['The error code.', error.payload.error.code],
    message: ['A sentence for people.', error.payload.error.message],
    details: ['More about the error, for programs.', error.payload.error.details],
    retry_after: ['The number of seconds to wait before a retry.', error.payload.error.retry_after],
    documentation_url: ['A page that explains the error.', error.payload.error.documentation_url],
  },
  ErrorPayload: { error: ['What went wrong.', error.payload.error] },
  DiscoverFilters: {
    status: ['The health of the agents to list. Defaults to `all`.', 'healthy'],
    max_results: ['The number of agents to list. Defaults to 100.', 10],
  },
  DiscoverAgentsPayload: {
    capabilities: ['The capabilities that an agent must have, all of them.', discover_agents.payload.capabilities],
    filters: ['Further conditions.', discover_agents.payload.filters],
  },
  AgentInfo: {
    agent_id: ['The id of the agent.', info?.agent_id],
    name: ['The name of the agent for people.', info?.name],
    capabilities: ['What the agent can do.', info?.capabilities],
    status: ['Whether the agent answered its last health check.', info?.status],
    endpoint: ['Where the agent receives messages.', info?.endpoint],
    last_heartbeat: ['When the registry last heard from the agent.', info?.last_heartbeat],
  },
  AgentAnnouncementPayload: {
    agents: ['The agents found, up to `max_results`.', agent_announcement.payload.agents],
    total_count: ['The number of agents that match.', agent_announcement.payload.total_count],
    query_time_ms: ['The duration of the search in milliseconds.', agent_announcement.payload.query_time_ms],
  },
  GoodbyePayload: {
    reason: ['Why the sender disconnects.', goodbye.payload.reason],
    reconnect_after: ['The number of seconds after which the sender may return.', goodbye.payload.reconnect_after],
  },
}

const values: Readonly<Record<string, unknown>> = {
  MessageId: request.message_id,
  AgentId: request.sender_id,
  Timestamp: request.timestamp,
  DateTime: '2026-01-31T13:00:00+01:00',
  Nonce: signature.nonce,
  Signature: signature.signature,
  Fingerprint: signature.public_key_fingerprint,
  SemanticVersion: card.version,
  ErrorCode: error.payload.error.code,
  HttpUrl: info?.endpoint,
  ResponsePayload: response.payload,
  HandshakeAckPayload: handshake_ack.payload,
}

/** The definition with an example, and with a description and an example for each member. */
export function documented(title: string, schema: Schema): Schema {
  if (!isSchema(schema.properties)) return { ...schema, examples: [exampleOf(title, values[title])] }
  const properties = documentedMembers(title, schema.properties)
  const examples = Object.entries(properties).map(([name, member]) => [name, (member.examples as unknown[])[0]])
  return { ...schema, examples: [Object.fromEntries(examples)], properties }
}

/** The members of a message type, with the values of its specimen as examples. */
export function documentedMembers(title: string, members: Schema, specimen: Schema = {}): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => {
      const [description, example] = documentation[title]?.[name] ?? []
      const value = exampleOf(`${title}.${name}`, name in specimen ? specimen[name] : example)
      return [name, { ...(member as Schema), description, examples: [value] }]
    }),
  )
}

function exampleOf(place: string, value: unknown): unknown {
  if (value === undefined) throw new Error(`${place} has no documentation: add it to schemas/build/documentation.ts`)
  return value
}
