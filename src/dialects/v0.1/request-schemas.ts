import { historyLength, id, maxParts } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { list } from '../shape.ts'
import { word } from '../tagged-shape.ts'
import { metadata, Part, PushConfig, words } from './schemas.ts'

/** What callers of A2A 0.1 send. No history is asked for by 0, or not at all. */

export const SendParams = object({
  id,
  sessionId: implicit(id),
  // Only the agent itself speaks as the agent.
  message: object({ role: word('user'), parts: list(Part, { min: 1, max: maxParts }), metadata }),
  pushNotification: optional(PushConfig),
  historyLength: implicit(historyLength),
  // Not in the schema, but clients send it.
  acceptedOutputModes: implicit(words),
  metadata,
})

export const GetTaskParams = object({ id, historyLength: implicit(historyLength) })

export const CancelTaskParams = object({ id, metadata })

/** To follow a task, or to get its push config. More may be said there, and means nothing. */
export const TaskParams = object({ id })
