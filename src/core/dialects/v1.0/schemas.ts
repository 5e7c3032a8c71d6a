import type * as model from '../../protocol/model.ts'
import {
  boolean,
  bytes,
  defaultsTo,
  implicit,
  int32,
  json,
  list,
  map,
  object,
  optional,
  protoEnum,
  string,
  struct,
  timestamp,
} from '../../schema/values.ts'
import { id, maxListItems, type Substitutes } from '../codec.ts'
import { cardFields, extensions, Requirement, Scheme, skillFields } from '../proto-card.ts'

// The objects of A2A 1.0 that agents send; requests.ts has those that callers send. Names, presence and enum numbers are those of `lf.a2a.v1`.

export const nonEmptyStrings = list(string({ min: 1 }), { max: maxListItems })

export const tenant = implicit(string({ max: 256 }))

export const metadata = optional(struct())

const flag = implicit(boolean())

const count = defaultsTo(int32({ min: 0 }), 0)

const securityRequirements = implicit(list(Requirement))

/** 1.0 has no state of a task that its agent has lost track of: the work is not done, and will not be. */
export const substitutes: Substitutes<'unknown'> = {
  unknown: { wireState: 'failed', name: 'TASK_STATE_UNSPECIFIED' },
}

/** In the order of the enum numbers, from 1. */
export const stateNames: Readonly<Record<Exclude<model.TaskState, 'unknown'>, string>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
}

/** In the order of the enum numbers, from 1. */
export const roleNames: Readonly<Record<model.Role, string>> = { user: 'ROLE_USER', agent: 'ROLE_AGENT' }

export const State = protoEnum('TASK_STATE_UNSPECIFIED', stateNames)

export const Role = protoEnum('ROLE_UNSPECIFIED', roleNames)

export const Part = object(
  { filename: implicit(string()), mediaType: implicit(string()), metadata },
  { oneOf: { text: string(), raw: bytes(), url: string({ min: 1 }), data: json() } },
)

export const messageFields = {
  messageId: id,
  role: Role,
  contextId: implicit(id),
  taskId: implicit(id),
  referenceTaskIds: implicit(list(id, { max: maxListItems })),
  extensions: implicit(nonEmptyStrings),
  metadata,
}

/** Unlimited in answers of agents: an artifact has as many parts as it had chunks. */
const parts = defaultsTo(list(Part), [])

const Message = object({ ...messageFields, parts })

const Artifact = object({
  artifactId: id,
  parts,
  name: implicit(string()),
  description: implicit(string()),
  extensions: implicit(list(string())),
  metadata,
})

const TaskStatus = object({
  state: State,
  message: optional(Message),
  // Some agents write times without a zone, in UTC.
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

const eventFields = { taskId: id, contextId: id, metadata }

export const StreamResponse = object(
  {},
  {
    oneOf: {
      task: Task,
      message: Message,
      statusUpdate: object({ ...eventFields, status: TaskStatus }),
      artifactUpdate: object({ ...eventFields, artifact: Artifact, append: flag, lastChunk: flag }),
    },
  },
)

export const pushFields = {
  tenant,
  id: implicit(id),
  url: string({ min: 1 }),
  token: implicit(string()),
  authentication: optional(object({ scheme: string({ min: 1 }), credentials: implicit(string()) })),
}

export const PushConfig = object({ ...pushFields, taskId: implicit(id) })

export const ListPushConfigsResponse = object({
  configs: implicit(list(PushConfig)),
  nextPageToken: implicit(string()),
})

export const ListTasksResponse = object({
  tasks: defaultsTo(list(Task), []),
  nextPageToken: defaultsTo(string(), ''),
  pageSize: count,
  totalSize: count,
})

export const AgentInterface = object({
  url: string({ min: 1 }),
  protocolBinding: string({ min: 1 }),
  protocolVersion: string({ min: 1 }),
  tenant: implicit(string()),
})

const Capabilities = object({
  streaming: optional(boolean()),
  pushNotifications: optional(boolean()),
  extendedAgentCard: optional(boolean()),
  extensions,
})

export const AgentSkill = object({ ...skillFields, securityRequirements })

export const AgentCard = object({
  ...cardFields,
  supportedInterfaces: list(AgentInterface, { min: 1 }),
  capabilities: defaultsTo(Capabilities, {}),
  skills: defaultsTo(list(AgentSkill), []),
  documentationUrl: optional(string()),
  iconUrl: optional(string()),
  securitySchemes: optional(map(Scheme)),
  securityRequirements,
})
