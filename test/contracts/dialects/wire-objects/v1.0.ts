import fc from 'fast-check'
import type { JsonObject } from '../../../../src/core/base/json.ts'
import { v1_0Client } from '../../../../src/core/dialects/v1.0/client.ts'
import * as request from '../../../../src/core/dialects/v1.0/requests.ts'
import * as wire from '../../../../src/core/dialects/v1.0/schemas.ts'
import { v1_0 } from '../../../../src/core/dialects/v1.0/server.ts'
import { arbitraryWireValues, withUnknownSchemes } from '../arbitrary-wire-values.ts'
import { asUser, unaryAndStream, type WireObjects } from './wire-objects.ts'

const cards = withUnknownSchemes(arbitraryWireValues(wire.AgentCard), [
  { holographicSecurityScheme: { depth: 3 } },
  { oauth2SecurityScheme: { flows: { telepathic: { scopes: {} } } } },
  {},
])

export const v1_0WireObjects: WireObjects = {
  servers: [v1_0],
  client: v1_0Client,
  requests: {
    ...unaryAndStream(arbitraryWireValues(request.SendMessageRequest).map(asUser)),
    getTask: arbitraryWireValues(request.GetTaskRequest),
    listTasks: arbitraryWireValues(request.ListTasksRequest),
    cancelTask: arbitraryWireValues(request.CancelTaskRequest),
    subscribeToTask: arbitraryWireValues(request.SubscribeToTaskRequest),
    createPushConfig: arbitraryWireValues(request.CreatePushConfigRequest),
    getPushConfig: arbitraryWireValues(request.PushConfigRequest),
    listPushConfigs: arbitraryWireValues(request.ListPushConfigsRequest),
    deletePushConfig: arbitraryWireValues(request.PushConfigRequest),
    getExtendedCard: arbitraryWireValues(request.GetExtendedCardRequest),
  },
  results: {
    sendMessage: arbitraryWireValues(wire.SendMessageResponse),
    getTask: arbitraryWireValues(wire.Task),
    listTasks: arbitraryWireValues(wire.ListTasksResponse).map(withConsistentArtifacts),
    cancelTask: arbitraryWireValues(wire.Task),
    createPushConfig: arbitraryWireValues(wire.PushConfig),
    getPushConfig: arbitraryWireValues(wire.PushConfig),
    listPushConfigs: arbitraryWireValues(wire.ListPushConfigsResponse),
    deletePushConfig: fc.constant({}),
    getExtendedCard: cards,
  },
  events: arbitraryWireValues(wire.StreamResponse),
  cards,
}

/** Either all tasks of a page have artifacts, or none. */
function withConsistentArtifacts({ tasks, ...page }: JsonObject): JsonObject {
  const listed = tasks as readonly JsonObject[]
  const withArtifacts = listed.some(({ artifacts }) => artifacts !== undefined)
  return { ...page, tasks: listed.map((task) => (withArtifacts ? { artifacts: [], ...task } : task)) }
}
