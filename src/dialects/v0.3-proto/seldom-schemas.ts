import { assumed } from '../assumed.ts'
import { id } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { int32 } from '../proto-shape.ts'
import { list, string } from '../shape.ts'
import { ConfigName } from './name-shapes.ts'
import { Task, words } from './schemas.ts'

/** What few ask for: where agents call, and lists of tasks. */

export const PushConfig = object({
  id: implicit(id),
  url: string({ min: 1 }),
  token: implicit(string()),
  authentication: optional(object({ schemes: implicit(words), credentials: implicit(string()) })),
})

export const TaskPushConfig = object({ name: ConfigName, pushNotificationConfig: PushConfig })

export const ListPushConfigsResponse = object({
  configs: implicit(list(TaskPushConfig)),
  nextPageToken: implicit(string()),
})

const count = assumed(int32({ min: 0 }), 0)

/** Not in the proto: as in 1.0. */
export const ListTasksResponse = object({
  tasks: assumed(list(Task), []),
  nextPageToken: assumed(string(), ''),
  pageSize: count,
  totalSize: count,
})
