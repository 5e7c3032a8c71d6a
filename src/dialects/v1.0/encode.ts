import type { StreamEvent } from '../../protocol/events.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Outcome } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import type { Draft } from '../draft.ts'
import { encodeCard } from './encode-card.ts'
import { encodeMessage, encodePushConfig } from './encode-message.ts'
import { encodeArtifact, encodeListedTask, encodeStatus, encodeTask } from './encode-objects.ts'

export const encodeResult = {
  sendMessage: encodeOutcome,
  getTask: encodeTask,
  // Here all four members are always there (A2A 1.0 §3.1.4).
  listTasks: ({ tasks, nextPageToken, pageSize, totalSize, withArtifacts }) => ({
    tasks: tasks.map((task) => encodeListedTask(task, withArtifacts)),
    nextPageToken,
    pageSize,
    totalSize,
  }),
  cancelTask: encodeTask,
  createPushConfig: encodePushConfig,
  getPushConfig: encodePushConfig,
  listPushConfigs({ configs, nextPageToken }) {
    const wire: Draft = {}
    if (configs.length > 0) wire.configs = configs.map(encodePushConfig)
    if (nextPageToken) wire.nextPageToken = nextPageToken
    return wire
  },
  deletePushConfig: () => ({}),
  getExtendedCard: encodeCard,
} satisfies ServerDialect['encodeResult']

export function encodeEvent(event: StreamEvent): readonly JsonObject[] {
  switch (event.type) {
    case 'task':
    case 'message':
      return [encodeOutcome(event)]
    case 'status': {
      const { taskId, contextId, status, metadata } = event
      const wire: Draft = { taskId, contextId, status: encodeStatus(status) }
      if (metadata) wire.metadata = metadata
      return [{ statusUpdate: wire }]
    }
    case 'artifact': {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = event
      const wire: Draft = { taskId, contextId, artifact: encodeArtifact(artifact) }
      if (append) wire.append = true
      if (lastChunk) wire.lastChunk = true
      if (metadata) wire.metadata = metadata
      return [{ artifactUpdate: wire }]
    }
  }
}

function encodeOutcome(outcome: Outcome): JsonObject {
  return outcome.type === 'task' ? { task: encodeTask(outcome.task) } : { message: encodeMessage(outcome.message) }
}
