import type { Json } from '../../base/json.ts'
import type { AgentCard } from '../../protocol/card.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Part, Task, TaskStatus } from '../../protocol/model.ts'
import type { Outcome } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import { generation, unknownMoment } from '../codec.ts'
import type { ResponseDecoder } from '../dialect.ts'
import {
  base64,
  filled,
  flag,
  id,
  list,
  members,
  moment,
  oneOf,
  type Plain,
  seldomAsked,
  struct,
  text,
  unusual,
  wordOf,
} from '../plain-reader.ts'
import { roleNames, stateNames } from './schemas.ts'

const texts = list(filled)

const metadata = struct

const described = { description: text }

const update = { taskId: id, contextId: id }

/** Who may call is said in many ways, and must not be overlooked. */
const security = { security: unusual, securityRequirements: unusual }

/**
 * A2A 1.0 as nearly all agents write it. What is written in any other way that the proto allows, is seldom asked for, or
 * is wrong is refused here: the whole reader, which is loaded then, reads it or tells what is wrong.
 */
export const plainReading: ResponseDecoder = {
  decodeResult: {
    sendMessage: (result) => outcomeOf(readOutcome(result)),
    getTask: readTask,
    cancelTask: readTask,
    ...seldomAsked,
    deletePushConfig() {},
    getExtendedCard: readCard,
  },
  decodeEvent,
  decodeCard: readCard,
}

function outcomeOf(read: ReturnType<typeof readOutcome>): Outcome {
  return 'task' in read ? { type: 'task', ...read } : { type: 'message', ...read }
}

/** Data may be anything. */
const anything: Plain<Json> = (value) => value as Json

const contentOf = oneOf({ text, raw: base64, url: filled, data: anything })

const annotationsOf = members({}, { filename: text, mediaType: text, metadata })

const partOf = (value: unknown): Part => ({ ...contentOf(value), ...annotationsOf(value) })

const parts = list(partOf)

const readMessage = members(
  { messageId: id, role: wordOf(roleNames), parts },
  { contextId: id, taskId: id, referenceTaskIds: list(id), extensions: texts, metadata },
)

const readArtifact = members({ artifactId: id, parts }, { name: text, extensions: texts, metadata, ...described })

const statusOf = members({ state: wordOf(stateNames) }, { message: readMessage, timestamp: moment })

const taskOf = members(
  { id, status: readStatus, artifacts: list(readArtifact), history: list(readMessage) },
  { contextId: id, metadata },
)

const choices = { task: readTask, message: readMessage }

const readOutcome = oneOf(choices)

function readTask(value: unknown): Task {
  return { contextId: '', ...taskOf(value), generation }
}

function readStatus(value: unknown): TaskStatus {
  const { timestamp = unknownMoment, ...status } = statusOf(value)
  return { ...status, timestamp }
}

function readCard(value: unknown): AgentCard {
  const { supportedInterfaces, capabilities, ...card } = cardOf(value)
  if (supportedInterfaces.length === 0) unusual()
  const { extendedAgentCard: extendedCard, ...others } = capabilities
  return {
    ...card,
    interfaces: supportedInterfaces.map(({ protocolBinding: binding, ...rest }) => ({ ...rest, binding })),
    capabilities: { ...others, extendedCard },
  }
}

const orEmpty: Plain<string> = (value = '') => text(value)

const named = { id: orEmpty, name: orEmpty, description: orEmpty }

const extension = members({ uri: filled }, { required: flag, params: struct, ...described })

const capabilitiesOf = members(
  {},
  { streaming: flag, pushNotifications: flag, extendedAgentCard: flag, extensions: list(extension) },
)

const skill = members(
  { ...named, tags: texts },
  { examples: texts, inputModes: texts, outputModes: texts, ...security },
)

const cardOf = members(
  {
    name: filled,
    description: orEmpty,
    version: orEmpty,
    supportedInterfaces: list(
      members({ url: filled, protocolBinding: filled, protocolVersion: filled }, { tenant: text }),
    ),
    capabilities: (value: unknown = {}) => capabilitiesOf(value),
    defaultInputModes: texts,
    defaultOutputModes: texts,
    skills: list(skill),
  },
  {
    provider: members({ organization: orEmpty, url: orEmpty }, {}),
    documentationUrl: text,
    iconUrl: text,
    signatures: list(members({ protected: text, signature: text }, { header: struct })),
    // As the official SDKs write that there are none.
    securitySchemes: (value) => (JSON.stringify(value) === '{}' ? {} : unusual()),
    ...security,
  },
)

function decodeEvent(value: unknown): StreamEvent {
  const read = readUpdate(value)
  if ('artifactUpdate' in read) return { type: 'artifact', ...read.artifactUpdate, generation }
  if ('statusUpdate' in read) {
    return { type: 'status', ...read.statusUpdate, generation, isLast: isEnded(read.statusUpdate.status.state) }
  }
  const outcome = outcomeOf(read)
  return { ...outcome, isLast: outcome.type === 'message' || isEnded(outcome.task.status.state) }
}

const readUpdate = oneOf({
  ...choices,
  statusUpdate: members({ ...update, status: readStatus }, { metadata }),
  artifactUpdate: members({ ...update, artifact: readArtifact }, { append: flag, lastChunk: flag, metadata }),
})
