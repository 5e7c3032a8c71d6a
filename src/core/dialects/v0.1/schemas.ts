import type { Json } from '../../base/json.ts'
import type { TaskState } from '../../protocol/model.ts'
import { type Infer, type Schema, Violation, wrongType } from '../../schema/schema.ts'
import { literal, tagged } from '../../schema/unions.ts'
import {
  boolean,
  bytes,
  implicit,
  int32,
  json,
  list,
  object,
  optional,
  readObject,
  string,
  struct,
  timestamp,
} from '../../schema/values.ts'
import { id, type Substitutes } from '../codec.ts'

// The objects of A2A 0.1; requests.ts has those that only callers send. Optional members may also be `null`.

const wireStates = ['submitted', 'working', 'input-required', 'completed', 'canceled', 'failed', 'unknown'] as const

export const metadata = optional(struct())

const authenticationFields = { schemes: list(string({ min: 1 }), { min: 1 }), credentials: optional(string()) }

const text = optional(string())

const implicitText = implicit(string())

const strings = optional(list(string()))

/** The spellings of states that agents use, including those of later versions. */
const stateSpellings: ReadonlyMap<string, TaskState> = new Map<string, TaskState>([
  ...wireStates.map((state) => [state, state] as const),
  ['rejected', 'rejected'],
  ['auth-required', 'auth-required'],
  ['cancelled', 'canceled'],
  ['pending', 'submitted'],
  ['running', 'working'],
])

/** A state without a meaning here does not say that the task has ended. */
const State: Schema<TaskState> = {
  read(value) {
    if (typeof value !== 'string') throw wrongType(`one of ${wireStates.join(', ')}`, value)
    return stateSpellings.get(value.toLowerCase().replaceAll('_', '-')) ?? 'working'
  },
  node: { is: 'enum', values: wireStates },
}

const FileContent = object({
  name: optional(string()),
  mimeType: optional(string()),
  bytes: optional(bytes()),
  uri: implicit(string({ min: 1 })),
})

/** A file may have bytes, a URI, or neither. */
const File: typeof FileContent = {
  read(value) {
    const file = FileContent.read(value)
    if (file.bytes !== undefined && file.uri !== undefined) throw new Violation('expected bytes or uri, got both')
    return file
  },
  node: { is: 'exclusive', of: FileContent, names: ['bytes', 'uri'] },
}

/** The schema of 0.1 allows objects only, its text also lists. */
const Data: Schema<Json> = {
  read(value) {
    if (typeof value !== 'object' || value === null) throw wrongType('an object or a list', value)
    return value as Json
  },
  node: { is: 'any', of: [struct(), list(json())] },
}

export type Part = Infer<typeof Part>

export const Part = tagged('type', {
  text: object({ text: string(), metadata }),
  file: object({ file: File, metadata }),
  data: object({ data: Data, metadata }),
})

export type Message = Infer<typeof Message>

const Message = object({ role: literal('user', 'agent'), parts: list(Part), metadata })

export type Artifact = Infer<typeof Artifact>

const Artifact = object({
  name: optional(string()),
  description: optional(string()),
  parts: list(Part),
  index: optional(int32()),
  append: optional(boolean()),
  lastChunk: optional(boolean()),
  metadata,
})

export type TaskStatus = Infer<typeof TaskStatus>

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

export const Authentication = object({ schemes: list(string()), credentials: text })

const Capabilities = object({
  streaming: optional(boolean()),
  pushNotifications: optional(boolean()),
  stateTransitionHistory: optional(boolean()),
})

const AgentSkill = object({
  id: string(),
  name: string(),
  description: implicitText,
  tags: implicit(list(string())),
  examples: strings,
  inputModes: strings,
  outputModes: strings,
})

export const AgentCard = object({
  name: string(),
  description: implicitText,
  url: string({ min: 1 }),
  provider: optional(object({ organization: string(), url: implicitText })),
  version: string(),
  documentationUrl: text,
  capabilities: Capabilities,
  defaultInputModes: strings,
  defaultOutputModes: strings,
  skills: list(AgentSkill),
  authentication: optional(Authentication),
})

/** The states that 0.1 does not have. */
export const substitutes: Substitutes<'rejected' | 'auth-required'> = {
  rejected: { wireState: 'failed', name: 'TASK_STATE_REJECTED' },
  'auth-required': { wireState: 'input-required', name: 'TASK_STATE_AUTH_REQUIRED' },
}

/** Also keeps unknown members: callers may add what their webhooks need. */
function open<T extends object>(schema: Schema<T>): Schema<T> {
  return { ...schema, read: (value) => ({ ...readObject(value), ...schema.read(value) }) }
}
