import type { Json, JsonObject } from '../../protocol/model.ts'
import type { RestAsking } from '../dialect.ts'
import { type Placed, restPlace } from '../rest-place.ts'

export const restAsking: RestAsking = {
  contentType: 'application/json',
  prefix: '/v1',
  place: (operation, wire) => restPlace(operation, '/card', placed(wire)),
}

/** Names of resources are the paths of them. A new config is sent whole: servers disagree on which part is the body. */
function placed({ name, parent, ...rest }: JsonObject): Placed {
  const [, taskId, configId] = idsIn(name ?? parent)
  return { taskId, configId, rest: parent === undefined || rest.config === undefined ? rest : { parent, ...rest } }
}

function idsIn(name: Json | undefined): readonly (string | undefined)[] {
  const form = /^tasks\/(.+?)(?:\/pushNotificationConfigs\/(.+))?$/s
  return typeof name === 'string' ? (form.exec(name) ?? []) : []
}
