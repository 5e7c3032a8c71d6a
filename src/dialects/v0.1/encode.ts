import type { ArtifactEvent, StatusEvent, StreamEvent } from '../../protocol/events.ts'
import type { JsonObject, Message } from '../../protocol/model.ts'
import type { Outcome, SendRequest } from '../../protocol/service.ts'
import type { RequestOf, ServerDialect, StreamOperation } from '../dialect.ts'
import type { Draft } from '../draft.ts'
import { indexIn } from './artifact-index.ts'
import { encodeArtifact, encodeMessage, encodeStatus, encodeTask, encodeTaskPushConfig } from './encode-objects.ts'
import { missing } from './methods.ts'
import { encodePart } from './parts.ts'

/** Callers know a task by the id that they chose: everything is told under the id in the request. */
export const encodeResult: ServerDialect['encodeResult'] = {
  ...missing,
  sendMessage: encodeOutcome,
  getTask: (task, { taskId }) => encodeTask(task, taskId),
  cancelTask: (task, { taskId }) => encodeTask(task, taskId),
  createPushConfig: (config, { taskId }) => encodeTaskPushConfig(config, taskId),
  getPushConfig: (config, { taskId }) => encodeTaskPushConfig(config, taskId),
}

/** A stream of 0.1 tells states and artifacts, never a task or a message. */
export function encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[] {
  const asked = 'message' in request ? request.alias : request.taskId
  switch (event.type) {
    case 'task': {
      const { isLast } = event
      const { id: ownId, status, metadata, artifacts } = event.task
      const id = asked ?? ownId
      const statusUpdate = encodeStatusUpdate(id, { status, metadata, isLast })
      const artifactUpdates = artifacts.map((artifact) => encodeArtifactUpdate(id, { artifact }, request))
      // Nobody reads on behind the last status.
      return isLast ? [...artifactUpdates, statusUpdate] : [statusUpdate, ...artifactUpdates]
    }
    case 'message': {
      const { message } = event
      return [{ id: asked ?? idOfAnswer(message), status: encodeAnswer(message), final: true }]
    }
    case 'status':
      return [encodeStatusUpdate(asked ?? event.taskId, event)]
    case 'artifact':
      return [encodeArtifactUpdate(asked ?? event.taskId, event, request)]
  }
}

type StatusChange = Omit<StatusEvent, 'type'> & Pick<StreamEvent, 'isLast'>

function encodeStatusUpdate(id: string, change: StatusChange): JsonObject {
  const wire: Draft = { id, ...encodeStatus(change) }
  if (change.isLast !== undefined) wire.final = change.isLast
  return wire
}

function encodeArtifactUpdate(id: string, change: Omit<ArtifactEvent, 'type'>, stream: object): JsonObject {
  const { artifact, metadata } = change
  const index = indexIn(stream, artifact.artifactId)
  const wire: Draft = { id, artifact: encodeArtifact(artifact, index, change) }
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

function encodeOutcome(outcome: Outcome, { alias, message: sent }: SendRequest): JsonObject {
  if (outcome.type === 'task') return encodeTask(outcome.task, alias ?? outcome.task.id)
  const { message } = outcome
  const { contextId = sent.contextId, parts } = message
  const wire: Draft = {
    id: alias ?? idOfAnswer(message),
    status: encodeAnswer(message),
    artifacts: [{ parts: parts.map(encodePart), index: 0 }],
  }
  if (contextId !== undefined) wire.sessionId = contextId
  return wire
}

/** An answer without a task is told as that of a task which is done with it. */
function encodeAnswer(message: Message): JsonObject {
  return { state: 'completed', message: encodeMessage(message) }
}

function idOfAnswer({ taskId, messageId }: Message): string {
  return taskId ?? messageId
}
