import type { StreamEvent } from '../../protocol/events.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Outcome } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import type { Draft } from '../draft.ts'
import { encodeCard } from './encode-card.ts'
import { encodeArtifact, encodeMessage, encodeNamedConfig, encodeStatus, encodeTask } from './encode-objects.ts'

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
  createPushConfig: encodeNamedConfig,
  getPushConfig: encodeNamedConfig,
  listPushConfigs({ configs, nextPageToken }) {
    const wire: Draft = {}
    if (configs.length > 0) wire.configs = configs.map(encodeNamedConfig)
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
      const wire = draftUpdate(event)
      wire.status = encodeStatus(event.status)
      if (event.isLast) wire.final = true
      return [{ statusUpdate: wire }]
    }
    case 'artifact': {
      const wire = draftUpdate(event)
      wire.artifact = encodeArtifact(event.artifact)
      if (event.append) wire.append = true
      if (event.lastChunk) wire.lastChunk = true
      return [{ artifactUpdate: wire }]
    }
  }
}

type Update = Extract<StreamEvent, { readonly type: 'status' | 'artifact' }>

function draftUpdate({ taskId, contextId, metadata }: Update): Draft {
  const wire: Draft = { taskId }
  if (contextId) wire.contextId = contextId
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeOutcome(outcome: Outcome): JsonObject {
  return outcome.type === 'task' ? { task: encodeTask(outcome.task) } : { message: encodeMessage(outcome.message) }
}
