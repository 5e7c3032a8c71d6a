import type { JsonObject } from '../../protocol/model.ts'
import type { Operation } from '../../protocol/service.ts'
import type { RestAsking } from '../dialect.ts'
import { type Placed, restPlace } from '../rest-place.ts'

/** For agents such as those of a2a-js 0.3.6 and 0.3.7, which take the objects of JSON-RPC over REST, too. */
export const restAsking: RestAsking = {
  contentType: 'application/json',
  prefix: '/v1',
  place: (operation, wire) => restPlace(operation, '/card', placed(operation, wire)),
}

function placed(operation: Operation, wire: JsonObject): Placed {
  if (operation === 'sendMessage' || operation === 'streamMessage') return { rest: wire }
  const { id, taskId = id, pushNotificationConfigId: configId, ...rest } = wire
  return { taskId, configId, rest }
}
