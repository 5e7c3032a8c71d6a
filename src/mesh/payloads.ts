import { number, strict, titled, withDefault } from '../core/schema/strict.ts'
import { literal, union } from '../core/schema/unions.ts'
import { boolean, list, object, optional, string, struct } from '../core/schema/values.ts'

/** Schemas of the eight mesh messages. Patterns alone define formats, so that every language reads them alike. */

const uuid4 = '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'

const longMonth = '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])'

const shortMonth = '(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)'

const february = '02-(?:0[1-9]|1[0-9]|2[0-8])'

const leapYear = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)'

const clock = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'

/** Only the canonical spelling: otherwise the last digit of a signature could change unnoticed. */
const base64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?'

const inPath = "(?:[A-Za-z0-9._~:/@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"

const inQuery = "(?:[A-Za-z0-9._~:/@!$&'()*+,;=?-]|%[0-9A-Fa-f]{2})"

const host = '(?:[A-Za-z0-9._~-]+|\\[[0-9A-Fa-f:.]+\\])'

const cardDescription = 'How an agent describes itself in a handshake. This is not the A2A agent card.'

export const MessageId = titled(
  'MessageId',
  string({ pattern: uuid4, expected: 'a UUID of version 4 in lower case' }),
  'A UUID of version 4 in lower case, unique per message.',
)

/** Old traffic contains ids with letters beyond f. */
export const LenientId = strict(string({ pattern: '^[0-9a-z-]{36}$', expected: '36 characters of 0–9, a–z and -' }))

/** A calendar date. There is no year 0. */
const day = `(?!0000)(?:[0-9]{4}-(?:${longMonth}|${shortMonth}|${february})|${leapYear}-02-29)`

export const Timestamp = titled(
  'Timestamp',
  string({
    pattern: `^${day}T${clock}(?:\\.[0-9]{3})?Z$`,
    format: 'date-time',
    expected: 'a time in UTC such as 2026-01-31T12:00:00.000Z (without a fraction or with three digits)',
  }),
  'A time in UTC with a precision of seconds or milliseconds, ending in Z.',
)

export const AgentId = titled(
  'AgentId',
  string({
    min: 3,
    max: 128,
    pattern: '^[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]$',
    expected: 'letters, digits and -, starting and ending with a letter or digit',
  }),
  'The id of an agent in the mesh. "registry" is the agent that answers discovery.',
)

const DateTime = titled(
  'DateTime',
  string({
    pattern: `^${day}T${clock}(?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$`,
    format: 'date-time',
    expected: 'a date and time as in RFC 3339',
  }),
  'A time as in RFC 3339, in any time zone.',
)

const Nonce = titled(
  'Nonce',
  string({ pattern: '^[0-9a-f]{32}$', expected: '32 hexadecimal digits in lower case' }),
  'Sixteen random bytes in hexadecimal, never used twice with one key.',
)

const Signature = titled(
  'Signature',
  string({ min: 4, pattern: `^${base64}$`, expected: 'base64 in the standard alphabet, with padding' }),
  'The signature over the canonical form (RFC 8785) of the envelope without this member, in base64.',
)

const Fingerprint = titled(
  'Fingerprint',
  string({ pattern: '^sha256:[0-9a-f]{16,64}$', expected: 'sha256: and 16 to 64 hexadecimal digits' }),
  'The SHA-256 of the public key as DER SPKI, or its first digits. It selects a key and proves nothing.',
)

const LenientNonce = strict(string({ pattern: '^[0-9a-z]{32,36}$', expected: '32 to 36 characters of 0–9 and a–z' }))

const authMembers = {
  agent_id: AgentId,
  timestamp: DateTime,
  nonce: Nonce,
  signature: Signature,
  public_key_fingerprint: optional(Fingerprint),
}

export const AuthenticationTag = titled(
  'AuthenticationTag',
  object(authMembers),
  'Identifies the signer. `agent_id` equals the `sender_id` of the envelope.',
)

/** The tag in old traffic. */
export const LenientAuthenticationTag = strict(object({ ...authMembers, nonce: LenientNonce }))

export const RequestPayload = titled(
  'RequestPayload',
  object({ method: string({ min: 1, max: 128 }), parameters: optional(struct()) }),
  'The method to call and its parameters.',
)

export const MeshErrorCode = titled(
  'ErrorCode',
  string({ pattern: '^[A-Z][A-Z0-9_]*[A-Z0-9]$', expected: 'a code in capitals such as NOT_FOUND' }),
  'A machine-readable error code. The standard codes are INVALID_MESSAGE, VALIDATION_FAILED, AUTHENTICATION_FAILED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, RATE_LIMIT_EXCEEDED, PAYLOAD_TOO_LARGE, INTERNAL_ERROR, SERVICE_UNAVAILABLE and TIMEOUT; agents may define their own.',
)

const ErrorObject = titled(
  'ErrorObject',
  object({ code: MeshErrorCode, message: string({ min: 1 }), details: optional(struct()) }),
  'Why a request failed.',
)

const SuccessResponsePayload = titled(
  'SuccessResponsePayload',
  object({ status: literal('success'), data: struct() }),
  'The request succeeded.',
)

const ErrorResponsePayload = titled(
  'ErrorResponsePayload',
  object({ status: literal('error'), error: ErrorObject }),
  'The agent understood the request and rejected it.',
)

export const ResponsePayload = titled(
  'ResponsePayload',
  union('status', { success: SuccessResponsePayload, error: ErrorResponsePayload }),
  'The result of a request: data or an error.',
)

export type SchemaVersion = '1.0.0' | '1.1.0'

const SemanticVersion = titled(
  'SemanticVersion',
  string({ pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+$', expected: 'a version such as 1.0.0' }),
  'Major, minor and patch version.',
)

const cardMembers = {
  agent_id: AgentId,
  name: string({ min: 1, max: 100 }),
  version: SemanticVersion,
  description: string({ max: 500 }),
  capabilities: list(string(), { min: 1, max: 50 }),
  supported_protocols: list(string(), { min: 1 }),
  metadata: optional(struct()),
}

export const MeshAgentCard = {
  '1.0.0': titled('AgentCard', object(cardMembers), cardDescription),
  '1.1.0': titled(
    'AgentCard',
    object({ ...cardMembers, schema_versions: optional(list(SemanticVersion, { min: 1 })) }),
    cardDescription,
  ),
}

export const HandshakePayload = (version: SchemaVersion) =>
  titled('HandshakePayload', object({ agent_card: MeshAgentCard[version] }), 'Starts a session between two agents.')

const HandshakeAccepted = titled(
  'HandshakeAccepted',
  object({
    accepted: boolean(true),
    agent_card: MeshAgentCard['1.1.0'],
    selected_protocol: string({ min: 1 }),
    schema_version: optional(SemanticVersion),
    reason: optional(string({ max: 500 })),
  }),
  'The answering agent, and the versions that both agents will use.',
)

const HandshakeRefused = titled(
  'HandshakeRefused',
  object({
    accepted: boolean(false),
    agent_card: optional(MeshAgentCard['1.1.0']),
    selected_protocol: optional(string({ min: 1 })),
    schema_version: optional(SemanticVersion),
    reason: optional(string({ max: 500 })),
  }),
  'The answering agent rejects the handshake.',
)

export const HandshakeAckPayload = titled(
  'HandshakeAckPayload',
  union('accepted', { true: HandshakeAccepted, false: HandshakeRefused }),
  'The answer to a handshake.',
)

const HttpUrl = titled(
  'HttpUrl',
  string({
    pattern: `^https?://${host}(?::[0-9]{1,5})?(?:/${inPath}*)?(?:\\?${inQuery}*)?(?:#${inQuery}*)?$`,
    format: 'uri',
    expected: 'an absolute http or https URL without credentials',
  }),
  'An absolute HTTP URL without credentials.',
)

const ErrorDetails = titled(
  'ErrorDetails',
  object({
    code: MeshErrorCode,
    message: string({ min: 1, max: 500 }),
    details: optional(struct()),
    retry_after: optional(number({ min: 0, integer: true })),
    documentation_url: optional(HttpUrl),
  }),
  'Why a message was rejected, when to retry (in seconds), and where to read more.',
)

export const ErrorPayload = titled(
  'ErrorPayload',
  object({ error: ErrorDetails }),
  'A protocol violation, or an agent that cannot answer.',
)

/** Whether objects that version 1.0.0 left open may have unknown members. */
export interface Openness {
  readonly open: boolean
}

export const DiscoverAgentsPayload = ({ open }: Openness) => {
  const members = {
    status: optional(withDefault(literal('healthy', 'unhealthy', 'all'), 'all')),
    max_results: optional(withDefault(number({ min: 1, max: 100, integer: true }), 100)),
  }
  const filters = titled(
    'DiscoverFilters',
    object(members, { open }),
    'Narrows the search. Defaults to all agents, up to 100.',
  )
  return titled(
    'DiscoverAgentsPayload',
    object({ capabilities: optional(list(string())), filters: optional(filters) }),
    'Searches the registry for agents with all of these capabilities.',
  )
}

export const AgentAnnouncementPayload = ({ open }: Openness) => {
  const members = {
    agent_id: AgentId,
    name: string(),
    capabilities: list(string()),
    status: literal('healthy', 'unhealthy'),
    endpoint: HttpUrl,
    last_heartbeat: optional(DateTime),
  }
  const info = titled('AgentInfo', object(members, { open }), 'An agent in the registry.')
  return titled(
    'AgentAnnouncementPayload',
    object({
      agents: list(info),
      total_count: number({ min: 0, integer: true }),
      query_time_ms: optional(number({ min: 0 })),
    }),
    'The agents found. `total_count` includes agents beyond `max_results`.',
  )
}

export const GoodbyePayload = titled(
  'GoodbyePayload',
  object({ reason: optional(string({ max: 500 })), reconnect_after: optional(number({ min: 0, integer: true })) }),
  'The sender disconnects, and may return after a number of seconds.',
)
