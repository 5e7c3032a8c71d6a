import type { TaskState } from '../../protocol/model.ts'
import { id, maxWords } from '../limits.ts'
import { object, optional } from '../object-shape.ts'
import { bytes, timestamp } from '../proto-shape.ts'
import { boolean, list, string, struct } from '../shape.ts'
import { marked, tagged, word } from '../tagged-shape.ts'

/** The objects of A2A 0.3 in its JSON form, in which most say by `kind` what they are. Those of 0.2 are the same. */

export const states = [
  'submitted',
  'working',
  'input-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'auth-required',
] as const satisfies readonly TaskState[]

export const State = word(...states)
export const words = list(string({ min: 1 }), { max: maxWords })
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
  role: word('user', 'agent'),
  contextId: optional(id),
  taskId: optional(id),
  referenceTaskIds: optional(list(id, { max: maxWords })),
  extensions: optional(words),
  metadata,
}

const MessageMembers = object({ ...messageFields, parts: list(Part) })
export const Message = marked('kind', 'message', MessageMembers)

export const Artifact = object({
  artifactId: id,
  parts: list(Part),
  name: optional(string()),
  description: optional(string()),
  extensions: optional(words),
  metadata,
})

export const TaskStatus = object({
  // An agent may have lost track of a task; nobody can ask for such tasks.
  state: word(...states, 'unknown'),
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
export const Task = marked('kind', 'task', TaskMembers)

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
