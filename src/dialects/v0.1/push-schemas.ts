import { id } from '../limits.ts'
import { object, optional } from '../object-shape.ts'
import { list, readObject, type Shape, string, type TypeOf } from '../shape.ts'

/** Where agents call. */

const authenticationFields = { schemes: list(string({ min: 1 }), { min: 1 }), credentials: optional(string()) }

export const PushConfig = object({
  url: string({ min: 1 }),
  token: optional(string()),
  authentication: optional(open(object(authenticationFields))),
})
export type PushConfig = TypeOf<typeof PushConfig>

export const TaskPushConfig = object({ id, pushNotificationConfig: PushConfig })

/** Callers may add what their webhooks need to know. */
function open<T extends object>(shape: Shape<T>): Shape<T> {
  return { ...shape, read: (value) => ({ ...readObject(value), ...shape.read(value) }) }
}
