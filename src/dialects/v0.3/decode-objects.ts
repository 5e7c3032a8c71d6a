import type { Artifact, Json, JsonObject, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import type { TypeOf } from '../shape.ts'
import { unknownMoment } from '../unknown-moment.ts'
import { carrying } from './carry.ts'
import { decodePart } from './parts.ts'
import type * as wire from './schemas.ts'

export function decodeMessage(message: TypeOf<typeof wire.Message>): Message {
  return { ...message, parts: message.parts.map(decodePart) }
}

export function decodeArtifact(artifact: TypeOf<typeof wire.Artifact>): Artifact {
  return { ...artifact, parts: artifact.parts.map(decodePart) }
}

/** An agent that does not know what became of a task has at least not ended it. */
export function decodeStatus({ state, message, timestamp }: TypeOf<typeof wire.TaskStatus>): TaskStatus {
  return {
    state: state === 'unknown' ? 'working' : state,
    ...(message !== undefined && { message: decodeMessage(message) }),
    timestamp: timestamp ?? unknownMoment,
  }
}

/** How far a task is, a transport that numbers its events knows: here it is 0. */
export const generation = 0

export function decodeTask({ status, artifacts, history, ...task }: TypeOf<typeof wire.Task>): Task {
  const kept: Record<string, Json> = {}
  if (status.state === 'unknown') kept.state = 'unknown'
  if (artifacts?.length === 0) kept.artifacts = []
  if (history?.length === 0) kept.history = []
  return {
    ...task,
    status: decodeStatus(status),
    artifacts: artifacts?.map(decodeArtifact) ?? [],
    history: history?.map(decodeMessage) ?? [],
    generation,
    ...carrying(kept),
  }
}

/** The model has one scheme of authentication: the first. */
export function decodePushConfig({ authentication, ...config }: TypeOf<typeof wire.PushConfig>): PushConfig {
  if (authentication === undefined) return config
  const { schemes, ...secret } = authentication
  const [scheme, ...others] = schemes
  if (scheme === undefined) return { ...config, ...carrying({ authentication: { schemes, ...secret } as JsonObject }) }
  return { ...config, authentication: { scheme, ...secret }, ...(others.length > 0 && carrying({ schemes })) }
}
