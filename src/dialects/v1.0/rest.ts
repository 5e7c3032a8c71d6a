import { invalidParams } from '../../protocol/errors.ts'
import type { RestSide } from '../dialect.ts'
import { readParams } from '../read-params.ts'
import { struct } from '../shape.ts'

/** Every field of a request is in the path, the query or the body; the path has the last word. */
export const rest: RestSide = {
  contentType: 'application/a2a+json',
  recognises: () => true,
  params({ operation, tenant, taskId, configId, query, body }) {
    const { 'A2A-Version': _, lastEventId: __, ...fields } = query
    const given: Record<string, unknown> = { ...fields, ...readParams(struct(), body ?? {}) }
    if (tenant !== undefined && given.tenant !== undefined && given.tenant !== tenant) {
      throw invalidParams('tenant', 'expected the tenant of the path, or none')
    }
    if (operation === 'listTasks') readFlags(given)
    const isPush = operation.endsWith('PushConfig') || operation === 'listPushConfigs'
    const address = taskId === undefined ? {} : isPush ? { taskId } : { id: taskId }
    return { ...given, ...address, ...(configId !== undefined && { id: configId }), ...(tenant && { tenant }) }
  },
}

/** A query has only texts; numbers are read from them, flags are not. */
function readFlags(given: Record<string, unknown>): void {
  for (const name of ['includeArtifacts', 'include_artifacts']) {
    const value = given[name]
    if (value === 'true' || value === 'false') given[name] = value === 'true'
  }
  // What the member was called in drafts of 1.0.
  given.statusTimestampAfter ??= given.lastUpdatedAfter
}
