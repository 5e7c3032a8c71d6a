import { id } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { timestamp } from '../proto-shape.ts'
import { historyLength, maxParts, pageSize } from '../request-limits.ts'
import { boolean, hinted, list, string } from '../shape.ts'
import { hintForPart, hintForRole } from './other-forms.ts'
import { messageFields, metadata, Part, PushConfig, pushFields, Role, State, tenant, words } from './schemas.ts'

/** What a caller sends: the request messages of the proto. */

const SentMessage = object({
  ...messageFields,
  role: hinted(Role, hintForRole),
  parts: list(hinted(Part, hintForPart), { min: 1, max: maxParts }),
})

const SendConfiguration = object({
  acceptedOutputModes: implicit(words),
  taskPushNotificationConfig: optional(PushConfig),
  historyLength: optional(historyLength),
  returnImmediately: implicit(boolean()),
})

export const SendMessageRequest = object({
  tenant,
  message: SentMessage,
  configuration: optional(SendConfiguration),
  metadata,
})

export const GetTaskRequest = object({ tenant, id, historyLength: optional(historyLength) })

const pageToken = implicit(string({ max: 4096 }))

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

export const CancelTaskRequest = object({ tenant, id, metadata })

export const SubscribeToTaskRequest = object({ tenant, id })

/** The proto leaves the task optional only because REST has it in the path. */
export const CreatePushConfigRequest = object({ ...pushFields, taskId: id })

/** Of one config: to get it, or to delete it. */
export const PushConfigRequest = object({ tenant, taskId: id, id })

export const ListPushConfigsRequest = object({ tenant, taskId: id, pageSize: implicit(pageSize), pageToken })

export const GetExtendedCardRequest = object({ tenant })
