import type * as model from '../../protocol/model.ts'
import { withUnspecified } from '../../schema/unions.ts'
import {
  boolean,
  bytes,
  defaultsTo,
  implicit,
  int32,
  list,
  map,
  object,
  optional,
  protoEnum,
  string,
  struct,
  timestamp,
} from '../../schema/values.ts'
import { id, maxListItems } from '../codec.ts'
import { cardFields, extensions, Requirement, schemeWith, skillFields, v0_3Flows } from '../proto-card.ts'
import { ConfigName } from './resource-names.ts'

// The objects of the proto of 0.3, `a2a.v1`; requests.ts has those that only callers send. It has few required members. Here, members that are required in effect are
// required.

export const nonEmptyStrings = list(string({ min: 1 }), { max: maxListItems })

export const metadata = optional(struct())

const flag = implicit(boolean())

const count = defaultsTo(int32({ min: 0 }), 0)

const text = implicit(string())

const security = implicit(list(Requirement))

export const State = protoEnum<Exclude<model.TaskState, 'unknown'>>('TASK_STATE_UNSPECIFIED', {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELLED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
})

/** With the state of a task that the agent has lost track of. Requests cannot filter by it. */
export const AnyState = withUnspecified(State, 'unknown')

export const Role = protoEnum<model.Role>('ROLE_UNSPECIFIED', { user: 'ROLE_USER', agent: 'ROLE_AGENT' })

const File = object(
  { mimeType: implicit(string()), name: implicit(string()) },
  { oneOf: { fileWithUri: string({ min: 1 }), fileWithBytes: bytes() } },
)

/** The metadata and the name of a file came after 0.3.0, but the 0.3 SDKs have them. */
export const Part = object({ metadata }, { oneOf: { text: string(), file: File, data: object({ data: struct() }) } })

export const messageFields = {
  messageId: id,
  role: Role,
  contextId: implicit(id),
  taskId: implicit(id),
  extensions: implicit(nonEmptyStrings),
  metadata,
}

const parts = defaultsTo(list(Part), [])

export const Message = object({ ...messageFields, messageId: defaultsTo(id, ''), content: parts })

export const Artifact = object({
  artifactId: id,
  parts,
  name: implicit(string()),
  description: implicit(string()),
  extensions: implicit(list(string())),
  metadata,
})

export const TaskStatus = object({
  state: defaultsTo(AnyState, 'unknown'),
  message: optional(Message),
  timestamp: optional(timestamp({ zone: 'Z' })),
})

export const Task = object({
  id,
  contextId: implicit(id),
  status: TaskStatus,
  artifacts: implicit(list(Artifact)),
  history: implicit(list(Message)),
  metadata,
})

export const SendMessageResponse = object({}, { oneOf: { task: Task, message: Message } })

const eventFields = { taskId: id, contextId: implicit(id), metadata }

export const StreamResponse = object(
  {},
  {
    oneOf: {
      task: Task,
      message: Message,
      statusUpdate: object({ ...eventFields, status: TaskStatus, final: flag }),
      artifactUpdate: object({ ...eventFields, artifact: Artifact, append: flag, lastChunk: flag }),
    },
  },
)

export const PushConfig = object({
  id: implicit(id),
  url: string({ min: 1 }),
  token: implicit(string()),
  authentication: optional(object({ schemes: implicit(nonEmptyStrings), credentials: implicit(string()) })),
})

export const TaskPushConfig = object({ name: ConfigName, pushNotificationConfig: PushConfig })

export const ListPushConfigsResponse = object({
  configs: implicit(list(TaskPushConfig)),
  nextPageToken: implicit(string()),
})

/** As in 1.0: the proto does not have it. */
export const ListTasksResponse = object({
  tasks: defaultsTo(list(Task), []),
  nextPageToken: defaultsTo(string(), ''),
  pageSize: count,
  totalSize: count,
})

const addressFields = {
  url: string({ min: 1 }),
  preferredTransport: text,
  additionalInterfaces: implicit(list(object({ url: string({ min: 1 }), transport: string({ min: 1 }) }))),
  protocolVersion: text,
}

/** The members of a card with the addresses of the agent. */
export const Addresses = object(addressFields)

const Capabilities = object({ streaming: flag, pushNotifications: flag, extensions })

export const AgentCard = object({
  ...addressFields,
  ...cardFields,
  capabilities: defaultsTo(Capabilities, {}),
  documentationUrl: text,
  // Came after 0.3.0, but the 0.3 SDKs have it.
  iconUrl: text,
  supportsAuthenticatedExtendedCard: flag,
  skills: defaultsTo(list(object({ ...skillFields, security })), []),
  securitySchemes: optional(map(schemeWith(object({}, { oneOf: v0_3Flows })))),
  security,
})
