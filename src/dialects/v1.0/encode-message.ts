import type { JsonObject, Message } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import type { Draft } from '../draft.ts'
import { encodePart } from './parts.ts'
import { roleNames } from './words.ts'

/** What both sides write. Empty strings and lists are left out, as ProtoJSON does. */

export function encodeMessage(message: Message): JsonObject {
  const { messageId, role, parts, contextId, taskId, referenceTaskIds, extensions, metadata } = message
  const wire: Draft = { messageId, role: roleNames[role], parts: parts.map(encodePart) }
  if (contextId) wire.contextId = contextId
  if (taskId) wire.taskId = taskId
  if (referenceTaskIds?.length) wire.referenceTaskIds = referenceTaskIds
  if (extensions?.length) wire.extensions = extensions
  if (metadata) wire.metadata = metadata
  return wire
}

export function encodePushConfig({ tenant, id, taskId, url, token, authentication }: PushConfig): JsonObject {
  const wire: Draft = { url }
  if (tenant) wire.tenant = tenant
  if (id) wire.id = id
  if (taskId) wire.taskId = taskId
  if (token) wire.token = token
  if (authentication) {
    const { scheme, credentials } = authentication
    wire.authentication = credentials ? { scheme, credentials } : { scheme }
  }
  return wire
}
