import type { Role as RoleWord, TaskState } from '../../protocol/model.ts'
import { assumed } from '../assumed.ts'
import { historyLength, id, maxParts, maxWords, pageSize } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { bytes, int32, protoEnum, timestamp } from '../proto-shape.ts'
import { boolean, hinted, json, list, string, struct } from '../shape.ts'
import { hintForPart, hintForRole } from './older-forms.ts'

/** What callers of A2A 1.0 send and agents answer. Names, presence and enum numbers are those of `lf.a2a.v1`. */

export const State = protoEnum<TaskState>('TASK_STATE_UNSPECIFIED', {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
})

export const Role = protoEnum<RoleWord>('ROLE_UNSPECIFIED', { user: 'ROLE_USER', agent: 'ROLE_AGENT' })

const words = list(string({ min: 1 }), { max: maxWords })
const tenant = implicit(string({ max: 256 }))
const pageToken = implicit(string({ max: 4096 }))

const Part = object(
  { filename: implicit(string()), mediaType: implicit(string()), metadata: optional(struct()) },
  { oneOf: { text: string(), raw: bytes(), url: string({ min: 1 }), data: json() } },
)

const part = hinted(Part, hintForPart)

const messageFields = {
  messageId: id,
  role: hinted(Role, hintForRole),
  contextId: implicit(id),
  taskId: implicit(id),
  referenceTaskIds: implicit(list(id, { max: maxWords })),
  extensions: implicit(words),
  metadata: optional(struct()),
}

const Message = object({ ...messageFields, parts: list(part, { min: 1, max: maxParts }) })

const Authentication = object({ scheme: string({ min: 1 }), credentials: implicit(string()) })

const pushFields = {
  tenant,
  id: implicit(id),
  url: string({ min: 1 }),
  token: implicit(string()),
  authentication: optional(Authentication),
}

export const PushConfig = object({ ...pushFields, taskId: implicit(id) })

const SendConfiguration = object({
  acceptedOutputModes: implicit(words),
  taskPushNotificationConfig: optional(PushConfig),
  historyLength: optional(historyLength),
  returnImmediately: implicit(boolean()),
})

export const SendMessageRequest = object({
  tenant,
  message: Message,
  configuration: optional(SendConfiguration),
  metadata: optional(struct()),
})

export const GetTaskRequest = object({ tenant, id, historyLength: optional(historyLength) })

export const ListTasksRequest = object({
  tenant,
  contextId: implicit(id),
  status: implicit(State),
  pageSize: optional(pageSize),
  pageToken,
  historyLength: optional(historyLength),
  statusTimestampAfter: optional(timestamp()),
  includeArtifacts: optional(boolean()),
})

export const CancelTaskRequest = object({ tenant, id, metadata: optional(struct()) })

export const SubscribeToTaskRequest = object({ tenant, id })

/** The proto leaves the task optional only because REST has it in the path. */
export const CreatePushConfigRequest = object({ ...pushFields, taskId: id })

/** Of one config: to get it, or to delete it. */
export const PushConfigRequest = object({ tenant, taskId: id, id })

export const ListPushConfigsRequest = object({
  tenant,
  taskId: id,
  pageSize: implicit(pageSize),
  pageToken,
})

export const GetExtendedCardRequest = object({ tenant })

/** What an agent says is not limited by us: an artifact has as many parts as it was streamed in. */
const parts = assumed(list(part), [])

const AnsweredMessage = object({ ...messageFields, parts })

const Artifact = object({
  artifactId: id,
  parts,
  name: implicit(string()),
  description: implicit(string()),
  extensions: implicit(list(string())),
  metadata: optional(struct()),
})

const Status = object({
  state: State,
  message: optional(AnsweredMessage),
  timestamp: optional(timestamp()),
})

export const Task = object({
  id,
  contextId: implicit(id),
  status: Status,
  artifacts: implicit(list(Artifact)),
  history: implicit(list(AnsweredMessage)),
  metadata: optional(struct()),
})

export const SendMessageResponse = object({}, { oneOf: { task: Task, message: AnsweredMessage } })

const eventFields = { taskId: id, contextId: id, metadata: optional(struct()) }

export const StreamResponse = object(
  {},
  {
    oneOf: {
      task: Task,
      message: AnsweredMessage,
      statusUpdate: object({ ...eventFields, status: Status }),
      artifactUpdate: object({
        ...eventFields,
        artifact: Artifact,
        append: implicit(boolean()),
        lastChunk: implicit(boolean()),
      }),
    },
  },
)

const count = assumed(int32({ min: 0 }), 0)

export const ListTasksResponse = object({
  tasks: assumed(list(Task), []),
  nextPageToken: assumed(string(), ''),
  pageSize: count,
  totalSize: count,
})

export const ListPushConfigsResponse = object({
  configs: implicit(list(PushConfig)),
  nextPageToken: implicit(string()),
})
