import type { Artifact, JsonObject, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import { decodeBareStatus } from '../bare-status.ts'
import type { TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { carrying } from './carry.ts'
import type { ConfigAddress } from './names.ts'
import { decodePart } from './parts.ts'
import { decodeReferences } from './references.ts'
import type * as wire from './schemas.ts'

export function decodeMessage({ content, ...message }: TypeOf<typeof wire.Message>): Message {
  return { ...message, ...decodeReferences(message), parts: content.map(decodePart) }
}

export function decodeArtifact({ parts, ...artifact }: TypeOf<typeof wire.Artifact>): Artifact {
  return { ...artifact, parts: parts.map(decodePart) }
}

export function decodeStatus({ message, ...status }: TypeOf<typeof wire.TaskStatus>): TaskStatus {
  return { ...decodeBareStatus(status, carrying), message: message && decodeMessage(message) }
}

/** What an agent leaves open is empty in the model. */
export function decodeTask(task: TypeOf<typeof wire.Task>): Task {
  const { contextId = '', status, artifacts = [], history = [], ...rest } = task
  return {
    ...rest,
    contextId,
    status: decodeStatus(status),
    artifacts: artifacts.map(decodeArtifact),
    history: history.map(decodeMessage),
    generation,
  }
}

type WirePushConfig = TypeOf<typeof wire.PushConfig>

/** The model has one scheme of authentication: the first. */
export function decodePushConfig(config: WirePushConfig, kept: JsonObject = {}): PushConfig {
  const { authentication, ...fields } = config
  if (authentication === undefined) return { ...fields, ...carrying(kept) }
  const { schemes = [], credentials } = authentication
  const [scheme, ...others] = schemes
  if (scheme === undefined) return { ...fields, ...carrying({ ...kept, credentials: credentials ?? '' }) }
  const carry = carrying(others.length > 0 ? { ...kept, schemes } : kept)
  return { ...fields, authentication: { scheme, credentials }, ...carry }
}

/** A config has its id in its name. Some have another one beside, or none. */
export function decodeNamedConfig(config: WirePushConfig, address: ConfigAddress, kept: JsonObject = {}): PushConfig {
  const own = config.id === address.id ? kept : { ...kept, id: config.id ?? '' }
  return { ...decodePushConfig(config, own), ...address }
}
