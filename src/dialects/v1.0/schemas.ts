import { assumed } from '../assumed.ts'
import { id, maxWords } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { bytes, int32, protoEnum, timestamp } from '../proto-shape.ts'
import { boolean, json, list, string, struct } from '../shape.ts'
import { roleNames, stateNames } from './words.ts'

/** The objects of A2A 1.0. Names, presence and enum numbers are those of `lf.a2a.v1`. */

export const State = protoEnum('TASK_STATE_UNSPECIFIED', stateNames)

export const Role = protoEnum('ROLE_UNSPECIFIED', roleNames)

export const words = list(string({ min: 1 }), { max: maxWords })
export const tenant = implicit(string({ max: 256 }))
export const metadata = optional(struct())

export const Part = object(
  { filename: implicit(string()), mediaType: implicit(string()), metadata },
  { oneOf: { text: string(), raw: bytes(), url: string({ min: 1 }), data: json() } },
)

export const messageFields = {
  messageId: id,
  role: Role,
  contextId: implicit(id),
  taskId: implicit(id),
  referenceTaskIds: implicit(list(id, { max: maxWords })),
  extensions: implicit(words),
  metadata,
}

/** What an agent says is not limited by us: an artifact has as many parts as it was streamed in. */
const parts = assumed(list(Part), [])

const Message = object({ ...messageFields, parts })

const Artifact = object({
  artifactId: id,
  parts,
  name: implicit(string()),
  description: implicit(string()),
  extensions: implicit(list(string())),
  metadata,
})

export const TaskStatus = object({
  state: State,
  message: optional(Message),
  timestamp: optional(timestamp()),
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

const flag = implicit(boolean())

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

const count = assumed(int32({ min: 0 }), 0)

export const ListTasksResponse = object({
  tasks: assumed(list(Task), []),
  nextPageToken: assumed(string(), ''),
  pageSize: count,
  totalSize: count,
})
