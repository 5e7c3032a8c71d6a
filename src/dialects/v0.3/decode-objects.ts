import type { Artifact, Message, Task, TaskStatus } from '../../protocol/model.ts'
import { decodeBareStatus } from '../bare-status.ts'
import type { Draft } from '../draft.ts'
import type { TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { carrying } from './carry.ts'
import { decodePart } from './parts.ts'
import type * as wire from './schemas.ts'

export function decodeMessage(message: TypeOf<typeof wire.Message>): Message {
  return { ...message, parts: message.parts.map(decodePart) }
}

export function decodeArtifact(artifact: TypeOf<typeof wire.Artifact>): Artifact {
  return { ...artifact, parts: artifact.parts.map(decodePart) }
}

export function decodeStatus({ message, ...status }: TypeOf<typeof wire.TaskStatus>): TaskStatus {
  const decoded = decodeBareStatus(status, carrying)
  return message === undefined ? decoded : { ...decoded, message: decodeMessage(message) }
}

export function decodeTask({ status, artifacts, history, ...task }: TypeOf<typeof wire.Task>): Task {
  const kept: Draft = {}
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
