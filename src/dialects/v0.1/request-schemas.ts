import { id } from '../limits.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { historyLength, maxParts } from '../request-limits.ts'
import { hinted, list } from '../shape.ts'
import { word } from '../tagged-shape.ts'
import { hintForPart, hintForRole } from './other-forms.ts'
import { PushConfig } from './push-schemas.ts'
import { metadata, Part, words } from './schemas.ts'

/** What callers of A2A 0.1 send. No history is asked for by 0, or not at all. */

export const SendParams = object({
  id,
  sessionId: implicit(id),
  // Only the agent itself speaks as the agent.
  message: object({
    role: hinted(word('user'), hintForRole),
    parts: list(hinted(Part, hintForPart), { min: 1, max: maxParts }),
    metadata,
  }),
  pushNotification: optional(PushConfig),
  historyLength: implicit(historyLength),
  // Not in the schema, but clients send it.
  acceptedOutputModes: implicit(words),
  metadata,
})

/** To get a task, or to follow it: there its history is of no interest. */
export const TaskQueryParams = object({ id, historyLength: implicit(historyLength), metadata })

/** To cancel a task, or to get its push config. */
export const TaskParams = object({ id, metadata })
