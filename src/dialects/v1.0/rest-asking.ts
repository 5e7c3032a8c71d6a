import type { JsonObject } from '../../protocol/model.ts'
import type { Operation } from '../../protocol/service.ts'
import type { RestAsking } from '../dialect.ts'
import { type Placed, restPlace } from '../rest-place.ts'

/** A tenant is the first segment of the path (A2A 1.0 §11.3). */
export const restAsking: RestAsking = {
  contentType: 'application/a2a+json',
  prefix: '',
  place(operation, { tenant, ...wire }) {
    const place = restPlace(operation, '/extendedAgentCard', placed(operation, wire))
    return typeof tenant === 'string' ? { ...place, path: `/${encodeURIComponent(tenant)}${place.path}` } : place
  },
}

function placed(operation: Operation, wire: JsonObject): Placed {
  const { taskId, id, ...rest } = wire
  // Its body is the config, which knows its task, too: not every server looks into the path.
  if (operation === 'createPushConfig') return { taskId, rest: wire }
  return taskId === undefined ? { taskId: id, rest } : { taskId, configId: id, rest }
}
