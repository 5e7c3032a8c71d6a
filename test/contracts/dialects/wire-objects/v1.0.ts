import fc from 'fast-check'
import type { JsonObject } from '../../../../src/base/json.ts'
import { v1_0Client } from '../../../../src/dialects/v1.0/client.ts'
import * as card from '../../../../src/dialects/v1.0/schemas.ts'
import * as request from '../../../../src/dialects/v1.0/schemas.ts'
import * as wire from '../../../../src/dialects/v1.0/schemas.ts'
import { v1_0 } from '../../../../src/dialects/v1.0/server.ts'
import { wireValuesOf } from '../wire-values-of.ts'
import { withStrangeSchemes } from '../with-strange-schemes.ts'
import { asUser, both, type WireObjects } from './wire-objects.ts'

const cards = withStrangeSchemes(wireValuesOf(card.AgentCard), [
  { holographicSecurityScheme: { depth: 3 } },
  { oauth2SecurityScheme: { flows: { telepathic: { scopes: {} } } } },
  {},
])

export const of1_0: WireObjects = {
  servers: [v1_0],
  client: v1_0Client,
  requests: {
    ...both(wireValuesOf(request.SendMessageRequest).map(asUser)),
    getTask: wireValuesOf(request.GetTaskRequest),
    listTasks: wireValuesOf(request.ListTasksRequest),
    cancelTask: wireValuesOf(request.CancelTaskRequest),
    subscribeToTask: wireValuesOf(request.SubscribeToTaskRequest),
    createPushConfig: wireValuesOf(request.CreatePushConfigRequest),
    getPushConfig: wireValuesOf(request.PushConfigRequest),
    listPushConfigs: wireValuesOf(request.ListPushConfigsRequest),
    deletePushConfig: wireValuesOf(request.PushConfigRequest),
    getExtendedCard: wireValuesOf(request.GetExtendedCardRequest),
  },
  results: {
    sendMessage: wireValuesOf(wire.SendMessageResponse),
    getTask: wireValuesOf(wire.Task),
    listTasks: wireValuesOf(wire.ListTasksResponse).map(listedAlike),
    cancelTask: wireValuesOf(wire.Task),
    createPushConfig: wireValuesOf(wire.PushConfig),
    getPushConfig: wireValuesOf(wire.PushConfig),
    listPushConfigs: wireValuesOf(wire.ListPushConfigsResponse),
    deletePushConfig: fc.constant({}),
    getExtendedCard: cards,
  },
  events: wireValuesOf(wire.StreamResponse),
  cards,
}

/** Either all tasks of a page were asked for with their artifacts, or none. */
function listedAlike({ tasks, ...page }: JsonObject): JsonObject {
  const listed = tasks as readonly JsonObject[]
  const withArtifacts = listed.some(({ artifacts }) => artifacts !== undefined)
  return { ...page, tasks: listed.map((task) => (withArtifacts ? { artifacts: [], ...task } : task)) }
}
