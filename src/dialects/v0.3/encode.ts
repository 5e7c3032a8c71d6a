import type { StreamEvent } from '../../protocol/events.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Outcome } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import type { Draft } from '../draft.ts'
import { encodeCard } from './encode-card.ts'
import { encodeArtifact, encodeMessage, encodeStatus, encodeTask, encodeTaskPushConfig } from './encode-objects.ts'

export const encodeResult = {
  sendMessage: encodeOutcome,
  getTask: encodeTask,
  listTasks: ({ tasks, nextPageToken, pageSize, totalSize }) => ({
    tasks: tasks.map(encodeTask),
    nextPageToken,
    pageSize,
    totalSize,
  }),
  cancelTask: encodeTask,
  createPushConfig: encodeTaskPushConfig,
  getPushConfig: encodeTaskPushConfig,
  listPushConfigs: ({ configs }) => configs.map(encodeTaskPushConfig),
  deletePushConfig: () => null,
  getExtendedCard: encodeCard,
} satisfies ServerDialect['encodeResult']

export function encodeEvent(event: StreamEvent): readonly JsonObject[] {
  switch (event.type) {
    case 'task':
    case 'message':
      return [encodeOutcome(event)]
    case 'status': {
      const { taskId, contextId, status, isLast = false, metadata } = event
      const wire: Draft = { kind: 'status-update', taskId, contextId, status: encodeStatus(status), final: isLast }
      if (metadata !== undefined) wire.metadata = metadata
      return [wire]
    }
    case 'artifact': {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = event
      const wire: Draft = { kind: 'artifact-update', taskId, contextId, artifact: encodeArtifact(artifact) }
      if (append !== undefined) wire.append = append
      if (lastChunk !== undefined) wire.lastChunk = lastChunk
      if (metadata !== undefined) wire.metadata = metadata
      return [wire]
    }
  }
}

function encodeOutcome(outcome: Outcome): JsonObject {
  return outcome.type === 'task' ? encodeTask(outcome.task) : encodeMessage(outcome.message)
}
