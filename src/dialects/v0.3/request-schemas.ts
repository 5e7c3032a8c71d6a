import { id } from '../limits.ts'
import { object, optional } from '../object-shape.ts'
import { historyLength, maxParts, pageSize } from '../request-limits.ts'
import { boolean, hinted, list, type Shape, string } from '../shape.ts'
import { marked, word } from '../tagged-shape.ts'
import { wrongValue } from '../violation.ts'
import { hintForPart, hintForRole } from './other-forms.ts'
import { messageFields, metadata, Part, State, words } from './schemas.ts'
import { PushConfig } from './seldom-schemas.ts'

/** What a caller sends, as params of JSON-RPC. */

const SentMessage = marked(
  'kind',
  'message',
  object({
    ...messageFields,
    role: hinted(word('user'), hintForRole),
    parts: list(hinted(Part, hintForPart), { min: 1, max: maxParts }),
  }),
)

const SendConfiguration = object({
  acceptedOutputModes: optional(words),
  blocking: optional(boolean()),
  historyLength: optional(historyLength),
  pushNotificationConfig: optional(PushConfig),
})

export const SendParams = object({ message: SentMessage, configuration: optional(SendConfiguration), metadata })

/** Of one task: to cancel it, to follow it, or to list its push configs. */
export const TaskParams = object({ id, metadata })

export const GetTaskParams = object({ id, historyLength: optional(historyLength), metadata })

/** As far as years have four digits. */
const latest = Date.parse('9999-12-31T23:59:59.999Z')

const milliseconds: Shape<number> = {
  read(value) {
    if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= latest) return Number(value)
    throw wrongValue('a time in milliseconds since 1970', value)
  },
  form: { is: 'integer', min: 0, max: latest },
}

export const ListTasksParams = object({
  contextId: optional(id),
  status: optional(State),
  pageSize: optional(pageSize),
  pageToken: optional(string({ max: 4096 })),
  historyLength: optional(historyLength),
  lastUpdatedAfter: optional(milliseconds),
  includeArtifacts: optional(boolean()),
  metadata,
})

export const GetPushConfigParams = object({ id, pushNotificationConfigId: optional(id), metadata })

export const DeletePushConfigParams = object({ id, pushNotificationConfigId: id, metadata })
