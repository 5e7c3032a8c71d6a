import { assumed } from '../assumed.ts'
import { id } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { timestamp } from '../proto-shape.ts'
import { historyLength, maxParts, pageSize } from '../request-limits.ts'
import { boolean, hinted, list, string, struct } from '../shape.ts'
import { ConfigName, TaskName } from './name-shapes.ts'
import { hintForPart, hintForRole } from './other-forms.ts'
import { messageFields, metadata, Part, Role, State, words } from './schemas.ts'
import { PushConfig } from './seldom-schemas.ts'

/** What a caller sends: the request messages of the proto. */

const SentMessage = object({
  ...messageFields,
  role: hinted(Role, hintForRole),
  content: list(hinted(Part, hintForPart), { min: 1, max: maxParts }),
})

/**
 * In the proto, history length has no presence, so that 0 is the same as nothing. JSON shows the difference, and callers
 * mean it: `decode.ts` says what.
 */
const SendConfiguration = object({
  acceptedOutputModes: implicit(words),
  pushNotification: optional(PushConfig),
  historyLength: optional(historyLength),
  blocking: implicit(boolean()),
})

export const SendMessageRequest = object({
  message: SentMessage,
  configuration: optional(SendConfiguration),
  metadata,
})

export const GetTaskRequest = object({ name: TaskName, historyLength: optional(historyLength) })

/** Of one task: to cancel it, or to follow it. */
export const TaskRequest = object({ name: TaskName })

const pageToken = implicit(string({ max: 4096 }))

/** Not in the proto: as in 1.0. */
export const ListTasksRequest = object({
  contextId: implicit(id),
  status: implicit(State),
  pageSize: optional(pageSize),
  pageToken,
  historyLength: optional(historyLength),
  statusTimestampAfter: optional(timestamp({ zone: 'Z' })),
  includeArtifacts: optional(boolean()),
})

export const CreatePushConfigRequest = object({
  parent: TaskName,
  configId: assumed(id, ''),
  config: object({ name: implicit(string()), pushNotificationConfig: PushConfig }),
})

/** Of one config: to get it, or to delete it. */
export const PushConfigRequest = object({ name: ConfigName })

export const ListPushConfigsRequest = object({ parent: TaskName, pageSize: implicit(pageSize), pageToken })

export const GetAgentCardRequest = struct()
