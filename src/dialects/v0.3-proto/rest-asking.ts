import type { Json, JsonObject } from '../../protocol/model.ts'
import type { RestAsking } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { type Placed, restPlace } from '../rest-place.ts'

export const restAsking: RestAsking = {
  contentType: 'application/json',
  prefix: '/v1',
  place(operation, wire) {
    const place = restPlace(operation, '/card', placed(wire))
    // The whole request is what the SDKs take for the body; its config alone is what the proto says.
    return operation === 'createPushConfig' && isObject(wire.config) ? { ...place, otherBody: wire.config } : place
  },
}

/** Names of resources are the paths of them. */
function placed({ name, parent, ...rest }: JsonObject): Placed {
  const [, taskId, configId] = idsIn(name ?? parent)
  return { taskId, configId, rest: parent === undefined || rest.config === undefined ? rest : { parent, ...rest } }
}

function idsIn(name: Json | undefined): readonly (string | undefined)[] {
  const form = /^tasks\/(.+?)(?:\/pushNotificationConfigs\/(.+))?$/s
  return typeof name === 'string' ? (form.exec(name) ?? []) : []
}
