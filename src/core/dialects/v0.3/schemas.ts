import type { JsonObject } from '../../base/json.ts'
import type { TaskState } from '../../protocol/model.ts'
import type { Infer, Schema } from '../../schema/schema.ts'
import { literal, tagged, taggedAs } from '../../schema/unions.ts'
import {
  boolean,
  bytes,
  int32,
  list,
  map,
  object,
  optional,
  readObject,
  string,
  struct,
  timestamp,
} from '../../schema/values.ts'
import { id, maxListItems } from '../codec.ts'

// The objects of A2A 0.3 in its JSON form, most of which have a `kind`; requests.ts has those that only callers send. Those
// of 0.2 are the same.

const text = optional(string())

const strings = list(string())

const requirements = optional(list(map(list(string()))))

export const states = [
  'submitted',
  'working',
  'input-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'auth-required',
  'unknown',
] as const satisfies readonly TaskState[]

export const State = literal(...states)

export const nonEmptyStrings = list(string({ min: 1 }), { max: maxListItems })

export const metadata = optional(struct())

const File = object(
  { name: optional(string()), mimeType: optional(string()) },
  { oneOf: { bytes: bytes(), uri: string({ min: 1 }) } },
)

export const Part = tagged('kind', {
  text: object({ text: string(), metadata }),
  file: object({ file: File, metadata }),
  data: object({ data: struct(), metadata }),
})

export const messageFields = {
  messageId: id,
  role: literal('user', 'agent'),
  contextId: optional(id),
  taskId: optional(id),
  referenceTaskIds: optional(list(id, { max: maxListItems })),
  extensions: optional(nonEmptyStrings),
  metadata,
}

const MessageMembers = object({ ...messageFields, parts: list(Part) })

export const Message = taggedAs('kind', 'message', MessageMembers)

export const Artifact = object({
  artifactId: id,
  parts: list(Part),
  name: optional(string()),
  description: optional(string()),
  extensions: optional(nonEmptyStrings),
  metadata,
})

export const TaskStatus = object({
  state: State,
  message: optional(Message),
  timestamp: optional(timestamp({ zone: 'Z' })),
})

const TaskMembers = object({
  id,
  contextId: id,
  status: TaskStatus,
  artifacts: optional(list(Artifact)),
  history: optional(list(Message)),
  metadata,
})

export const Outcome = tagged('kind', { task: TaskMembers, message: MessageMembers })

export const StreamEvent = tagged('kind', {
  task: TaskMembers,
  message: MessageMembers,
  'status-update': object({ taskId: id, contextId: id, status: TaskStatus, final: boolean(), metadata }),
  'artifact-update': object({
    taskId: id,
    contextId: id,
    artifact: Artifact,
    append: optional(boolean()),
    lastChunk: optional(boolean()),
    metadata,
  }),
})

export const PushConfig = object({
  id: optional(id),
  url: string({ min: 1 }),
  token: optional(string()),
  authentication: optional(object({ schemes: nonEmptyStrings, credentials: optional(string()) })),
})

export const TaskPushConfig = object({ taskId: id, pushNotificationConfig: PushConfig })

export const Task = taggedAs('kind', 'task', TaskMembers)

export const TaskPage = object({
  tasks: list(Task),
  nextPageToken: string(),
  pageSize: int32({ min: 0 }),
  totalSize: int32({ min: 0 }),
})

const addressFields = {
  url: string(),
  preferredTransport: text,
  additionalInterfaces: optional(list(object({ url: string(), transport: string() }))),
  // Only since 0.2.5.
  protocolVersion: text,
}

/** The members of a card with the addresses of the agent. */
export const Addresses = object(addressFields)

const Capabilities = object({
  streaming: optional(boolean()),
  pushNotifications: optional(boolean()),
  stateTransitionHistory: optional(boolean()),
  extensions: optional(
    list(object({ uri: string(), description: text, required: optional(boolean()), params: optional(struct()) })),
  ),
})

const skillFields = {
  id: string(),
  name: string(),
  description: string(),
  tags: strings,
  examples: optional(strings),
  inputModes: optional(strings),
  outputModes: optional(strings),
}

const flowFields = { refreshUrl: text, scopes: map(string()) }

const OAuthFlows = object({
  authorizationCode: optional(object({ authorizationUrl: string(), tokenUrl: string(), ...flowFields })),
  clientCredentials: optional(object({ tokenUrl: string(), ...flowFields })),
  implicit: optional(object({ authorizationUrl: string(), ...flowFields })),
  password: optional(object({ tokenUrl: string(), ...flowFields })),
})

const schemes = {
  apiKey: object({ name: string(), in: literal('cookie', 'header', 'query'), description: text }),
  http: object({ scheme: string(), bearerFormat: text, description: text }),
  oauth2: object({ flows: OAuthFlows, oauth2MetadataUrl: text, description: text }),
  openIdConnect: object({ openIdConnectUrl: string(), description: text }),
  mutualTLS: object({ description: text }),
}

const KnownScheme = tagged('type', schemes)

/** Accepts schemes of unknown types or with unknown flows as unusable, so that the rest of the card can be read. */
export const SecurityScheme: Schema<Infer<typeof KnownScheme> | { readonly unusable: JsonObject }> = {
  read(value) {
    const source = readObject(value)
    if (typeof source.type !== 'string' || !Object.hasOwn(schemes, source.type)) return { unusable: source }
    const scheme = KnownScheme.read(source)
    return 'oauth2' in scheme && Object.keys(scheme.oauth2.flows).length === 0 ? { unusable: source } : scheme
  },
  node: KnownScheme.node,
}

export const AgentCard = object({
  ...addressFields,
  name: string(),
  description: string(),
  version: string(),
  capabilities: Capabilities,
  defaultInputModes: strings,
  defaultOutputModes: strings,
  provider: optional(object({ organization: string(), url: string() })),
  documentationUrl: text,
  iconUrl: text,
  supportsAuthenticatedExtendedCard: optional(boolean()),
  signatures: optional(list(object({ protected: string(), signature: string(), header: optional(struct()) }))),
  skills: list(object({ ...skillFields, security: requirements })),
  securitySchemes: optional(map(SecurityScheme)),
  security: requirements,
})
