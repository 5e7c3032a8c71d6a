import type { Artifact, Message, Task, TaskStatus } from '../../protocol/model.ts'
import { decodeBareStatus } from '../bare-status.ts'
import type { TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { carrying } from './carry.ts'
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
