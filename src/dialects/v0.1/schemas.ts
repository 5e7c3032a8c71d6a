import type { Json, JsonObject } from '../../base/json.ts'
import type { TaskState } from '../../protocol/model.ts'
import { implicit, object, optional } from '../../schema/object.ts'
import { bytes, int32, timestamp } from '../../schema/proto.ts'
import {
  boolean,
  type Infer,
  json,
  list,
  readObject,
  type Schema,
  string,
  struct,
  Violation,
  withHint,
  wrongType,
} from '../../schema/schema.ts'
import { literal, tagged } from '../../schema/tagged.ts'
import { withKeys, withoutKeys } from '../part-metadata.ts'
import { historyLength, id, maxListItems, maxParts } from '../request-limits.ts'

const wordsStates = ['submitted', 'working', 'input-required', 'completed', 'canceled', 'failed', 'unknown'] as const

const key = 'a2a.state'

/** The objects of A2A 0.1. Members that need not be there may also be `null`. */

const metadata = optional(struct())

const words = list(string({ min: 1 }), { max: maxListItems })

/** What a caller who mixes later versions of A2A into 0.1 should write instead. */

const partHint = 'in 0.1 write {"type": "text", "text": …}, {"type": "file", "file": …} or {"type": "data", "data": …}'

/** Where agents call. */

const authenticationFields = { schemes: list(string({ min: 1 }), { min: 1 }), credentials: optional(string()) }

const text = optional(string())

const someText = implicit(string())

const texts = optional(list(string()))

export function encodeState({ state, metadata }: Stated<TaskState | 'unknown'>): Stated<WireState> {
  if (state !== 'rejected' && state !== 'auth-required') return { state, metadata }
  const { word, truth } = substitutes[state]
  return { state: word, metadata: withKeys(metadata, { [key]: truth }) }
}

export function decodeState({ state, metadata }: Stated<TaskState | 'unknown'>): Stated<TaskState | 'unknown'> {
  for (const meant of ['rejected', 'auth-required'] as const) {
    const { word, truth } = substitutes[meant]
    if (state === word && metadata?.[key] === truth) {
      return { state: meant, metadata: withoutKeys(metadata, { [key]: truth }) }
    }
  }
  return { state, metadata }
}

export type TaskStatus = Infer<typeof TaskStatus>

export type Artifact = Infer<typeof Artifact>

export type Message = Infer<typeof Message>

/** As agents spell them, also those of later versions and those who never looked it up. */
const spellings: ReadonlyMap<string, TaskState | 'unknown'> = new Map<string, TaskState | 'unknown'>([
  ...wordsStates.map((word) => [word, word] as const),
  ['rejected', 'rejected'],
  ['auth-required', 'auth-required'],
  ['cancelled', 'canceled'],
  ['pending', 'submitted'],
  ['running', 'working'],
])

const State: Schema<TaskState | 'unknown'> = {
  read(value) {
    if (typeof value !== 'string') throw wrongType(`one of ${wordsStates.join(', ')}`, value)
    return spellings.get(value.toLowerCase().replaceAll('_', '-')) ?? 'unknown'
  },
  node: { is: 'enum', values: wordsStates },
}

const FileContent = object({
  name: optional(string()),
  mimeType: optional(string()),
  bytes: optional(bytes()),
  uri: implicit(string({ min: 1 })),
})

/** It may also be just named. */
const File: typeof FileContent = {
  read(value) {
    const file = FileContent.read(value)
    if (file.bytes !== undefined && file.uri !== undefined) throw new Violation('expected bytes or uri, got both')
    return file
  },
  node: { is: 'exclusive', of: FileContent, names: ['bytes', 'uri'] },
}

/** Objects; the text of 0.1 also has lists. */
const Data: Schema<Json> = {
  read(value) {
    if (typeof value !== 'object' || value === null) throw wrongType('an object or a list', value)
    return value as Json
  },
  node: { is: 'any', of: [struct(), list(json())] },
}

export const Part = tagged('type', {
  text: object({ text: string(), metadata }),
  file: object({ file: File, metadata }),
  data: object({ data: Data, metadata }),
})

const Message = object({ role: literal('user', 'agent'), parts: list(Part), metadata })

const Artifact = object({
  name: optional(string()),
  description: optional(string()),
  parts: list(Part),
  index: optional(int32()),
  append: optional(boolean()),
  lastChunk: optional(boolean()),
  metadata,
})

const TaskStatus = object({ state: State, message: optional(Message), timestamp: optional(timestamp({ zone: 'Z' })) })

export const Task = object({
  id,
  sessionId: implicit(id),
  status: TaskStatus,
  artifacts: optional(list(Artifact)),
  history: optional(list(Message)),
  metadata,
})

export const StatusUpdate = object({ id, status: TaskStatus, final: optional(boolean()), metadata })

export const ArtifactUpdate = object({ id, artifact: Artifact, metadata })

export type PushConfig = Infer<typeof PushConfig>

export const PushConfig = object({
  url: string({ min: 1 }),
  token: optional(string()),
  authentication: optional(open(object(authenticationFields))),
})

export const TaskPushConfig = object({ id, pushNotificationConfig: PushConfig })

export type Part = Infer<typeof Part>

/** What callers of A2A 0.1 send. No history is asked for by 0, or not at all. */

export const SendParams = object({
  id,
  sessionId: implicit(id),
  // Only the agent itself speaks as the agent.
  message: object({
    role: withHint(literal('user'), hintForRole),
    parts: list(withHint(Part, hintForPart), { min: 1, max: maxParts }),
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

export const Authentication = object({ schemes: list(string()), credentials: text })

const Capabilities = object({
  streaming: optional(boolean()),
  pushNotifications: optional(boolean()),
  stateTransitionHistory: optional(boolean()),
})

const AgentSkill = object({
  id: string(),
  name: string(),
  description: someText,
  tags: implicit(list(string())),
  examples: texts,
  inputModes: texts,
  outputModes: texts,
})

export const AgentCard = object({
  name: string(),
  description: someText,
  url: string({ min: 1 }),
  provider: optional(object({ organization: string(), url: someText })),
  version: string(),
  documentationUrl: text,
  capabilities: Capabilities,
  defaultInputModes: texts,
  defaultOutputModes: texts,
  skills: list(AgentSkill),
  authentication: optional(Authentication),
})

/** A state, and the metadata of what is in that state. */
interface Stated<S> {
  readonly state: S
  readonly metadata?: JsonObject
}

type WireState = (typeof wordsStates)[number]

/** The states that 0.1 has no word for: what is said instead, and what the metadata says then. */
const substitutes = {
  rejected: { word: 'failed', truth: 'TASK_STATE_REJECTED' },
  'auth-required': { word: 'input-required', truth: 'TASK_STATE_AUTH_REQUIRED' },
} as const

/** Callers may add what their webhooks need to know. */
function open<T extends object>(schema: Schema<T>): Schema<T> {
  return { ...schema, read: (value) => ({ ...readObject(value), ...schema.read(value) }) }
}

function hintForRole(value: unknown): string | undefined {
  if (value !== 'ROLE_USER' && value !== 'ROLE_AGENT') return undefined
  return `"${value}" looks like A2A 1.0; in 0.1 write "${value.slice(5).toLowerCase()}"`
}

function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || 'type' in value) return undefined
  if ('kind' in value) return `a part with "kind" looks like A2A 0.2 or 0.3; ${partHint}`
  if ('text' in value || 'raw' in value || 'url' in value || 'data' in value) {
    return `a part without "type" looks like A2A 1.0; ${partHint}`
  }
  return undefined
}
