import type { Role as RoleWord, TaskState } from '../../protocol/model.ts'
import { assumed } from '../assumed.ts'
import { id, maxWords } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { bytes, protoEnum, timestamp, withUnspecified } from '../proto-shape.ts'
import { boolean, list, string, struct } from '../shape.ts'

/** The objects of A2A 0.3 in its proto, `a2a.v1`. It marks next to nothing as required; what is so by sense is here. */

export const State = protoEnum<TaskState>('TASK_STATE_UNSPECIFIED', {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELLED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
})

/** An agent may have lost track of a task; nobody can ask for such tasks. */
export const AnyState = withUnspecified(State, 'unknown')

export const Role = protoEnum<RoleWord>('ROLE_UNSPECIFIED', { user: 'ROLE_USER', agent: 'ROLE_AGENT' })

export const words = list(string({ min: 1 }), { max: maxWords })
export const metadata = optional(struct())

const File = object(
  { mimeType: implicit(string()), name: implicit(string()) },
  { oneOf: { fileWithUri: string({ min: 1 }), fileWithBytes: bytes() } },
)

/** Its metadata and the name of a file came after 0.3.0; the SDKs of 0.3 have them. */
export const Part = object({ metadata }, { oneOf: { text: string(), file: File, data: object({ data: struct() }) } })

export const messageFields = {
  messageId: id,
  role: Role,
  contextId: implicit(id),
  taskId: implicit(id),
  extensions: implicit(words),
  metadata,
}

const parts = assumed(list(Part), [])

export const Message = object({ ...messageFields, messageId: assumed(id, ''), content: parts })

export const Artifact = object({
  artifactId: id,
  parts,
  name: implicit(string()),
  description: implicit(string()),
  extensions: implicit(list(string())),
  metadata,
})

export const TaskStatus = object({
  state: assumed(AnyState, 'unknown'),
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

const flag = implicit(boolean())

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
