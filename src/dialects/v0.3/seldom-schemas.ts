import { id } from '../limits.ts'
import { object, optional } from '../object-shape.ts'
import { int32 } from '../proto-shape.ts'
import { list, string } from '../shape.ts'
import { Task, words } from './schemas.ts'

/** What few ask for: where agents call, and lists of tasks. */

export const PushConfig = object({
  id: optional(id),
  url: string({ min: 1 }),
  token: optional(string()),
  authentication: optional(object({ schemes: words, credentials: optional(string()) })),
})

export const TaskPushConfig = object({ taskId: id, pushNotificationConfig: PushConfig })

export const TaskPage = object({
  tasks: list(Task),
  nextPageToken: string(),
  pageSize: int32({ min: 0 }),
  totalSize: int32({ min: 0 }),
})
