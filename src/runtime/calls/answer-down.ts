import { answerGone } from '../../agent/ask.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { credentialsExtension, credentialsPart, isMark } from '../../protocol/in-band.ts'
import { lineageExtension } from '../../protocol/lineage.ts'
import type { SendRequest } from '../../protocol/service.ts'
import type { Scene } from '../scene.ts'
import type { Link } from './link.ts'
import type { Keys } from './outcome.ts'
import { withTheirIds } from './request-ids.ts'

/**
 * What our caller answered, for the other agent. Credentials that were taken out of it go down with it, as long as this
 * process has them; if it has not, the mark does, and the other agent asks again.
 */
export function answerDown(
  { message, ticket, sensitive }: MessageEvent,
  { taskId, contextId }: Link,
  { messageId }: Keys,
  { task, settings, secrets }: Scene,
): SendRequest {
  if (sensitive) throw answerGone()
  const inBand = settings.vault.of(ticket)?.inBand ?? []
  for (const { credentials } of inBand) secrets.add(credentials)
  const { [lineageExtension]: _, [credentialsExtension]: __, ...metadata } = message.metadata ?? {}
  const said = withTheirIds(message.parts, taskId)
  const parts = inBand.length === 0 ? said : said.filter((part) => !isMark(part))
  return {
    message: {
      messageId,
      role: 'user',
      parts: [...parts, ...inBand.map(credentialsPart)],
      taskId,
      ...(contextId !== undefined && contextId !== '' && { contextId }),
      referenceTaskIds: [task.taskId],
      metadata,
    },
  }
}
