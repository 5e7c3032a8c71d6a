import type { StatusEvent } from '../../protocol/events.ts'
import type { Artifact, JsonObject, Message, Task } from '../../protocol/model.ts'
import { decodeBareStatus } from '../bare-status.ts'
import type { Draft } from '../draft.ts'
import type { TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { carrying } from './carry.ts'
import { messageIds } from './message-ids.ts'
import { decodePart } from './parts.ts'
import type * as wire from './schemas.ts'
import { decodeState } from './states.ts'

/** A task that tells no session is of the one that was asked for, and if none was, of one that is its own. */
export function decodeTask(task: TypeOf<typeof wire.Task>, askedSession?: string): Task {
  const { id, sessionId, artifacts, history } = task
  const contextId = sessionId ?? askedSession ?? id
  const decodeMessage = messageDecoder({ taskId: id, contextId })
  const kept: Draft = {}
  if (sessionId === undefined) kept.sessionless = true
  if (artifacts?.length === 0) kept.artifacts = []
  if (history?.length === 0) kept.history = []
  return {
    id,
    contextId,
    history: history?.map(decodeMessage) ?? [],
    ...decodeStatus(task.status, task.metadata, decodeMessage),
    artifacts: artifacts?.map(decodeArtifact) ?? [],
    generation,
    ...carrying(kept),
  }
}

type MessageDecoder = (message: wire.Message) => Message

/** For the messages of one task, oldest first. */
export function messageDecoder(of: { readonly taskId: string; readonly contextId: string }): MessageDecoder {
  const { taskId, contextId } = of
  const idOf = messageIds(taskId)
  return (message) => {
    const { role, parts, metadata } = message
    return { messageId: idOf(message), role, parts: parts.map(decodePart), contextId, taskId, metadata }
  }
}

/** With the metadata of the task or event that has it, which may say more of the state than the state itself. */
export function decodeStatus(
  { state: word, message, timestamp }: wire.TaskStatus,
  around: JsonObject | undefined,
  decodeMessage: MessageDecoder,
): Omit<StatusEvent, 'type'> {
  const { state, metadata } = decodeState({ state: word, metadata: around })
  const status = decodeBareStatus({ state, timestamp }, carrying)
  return { status: message === undefined ? status : { ...status, message: decodeMessage(message) }, metadata }
}

/** Without a number it is the one at its position, and in a stream the first. */
export function decodeArtifact(artifact: wire.Artifact, position = 0): Artifact {
  const { index, append, lastChunk, parts, ...rest } = artifact
  const kept: Draft = { index: index ?? null }
  if (append !== undefined) kept.append = append
  if (lastChunk !== undefined) kept.lastChunk = lastChunk
  return { ...rest, artifactId: `artifact-${index ?? position}`, parts: parts.map(decodePart), ...carrying(kept) }
}
