import fc from 'fast-check'
import { v0_3Client } from '../../../../src/core/dialects/v0.3/client.ts'
import * as request from '../../../../src/core/dialects/v0.3/requests.ts'
import * as wire from '../../../../src/core/dialects/v0.3/schemas.ts'
import { v0_3, v0_3Strict } from '../../../../src/core/dialects/v0.3/server.ts'
import { arbitraryWireValues, withUnknownSchemes } from '../arbitrary-wire-values.ts'
import { unaryAndStream, type WireObjects } from './wire-objects.ts'

const cards = withUnknownSchemes(arbitraryWireValues(wire.AgentCard), [
  { type: 'holographic', depth: 3 },
  { type: 'oauth2', flows: { telepathic: { scopes: {} } } },
  {},
])

export const v0_3WireObjects: WireObjects = {
  servers: [v0_3, v0_3Strict],
  client: v0_3Client,
  requests: {
    ...unaryAndStream(arbitraryWireValues(request.SendParams)),
    getTask: arbitraryWireValues(request.GetTaskParams),
    listTasks: arbitraryWireValues(request.ListTasksParams),
    cancelTask: arbitraryWireValues(request.TaskParams),
    subscribeToTask: arbitraryWireValues(request.TaskParams),
    createPushConfig: arbitraryWireValues(wire.TaskPushConfig),
    getPushConfig: arbitraryWireValues(request.GetPushConfigParams),
    listPushConfigs: arbitraryWireValues(request.TaskParams),
    deletePushConfig: arbitraryWireValues(request.DeletePushConfigParams),
    getExtendedCard: fc.constant({}),
  },
  results: {
    sendMessage: arbitraryWireValues(wire.Outcome),
    getTask: arbitraryWireValues(wire.Task),
    listTasks: arbitraryWireValues(wire.TaskPage),
    cancelTask: arbitraryWireValues(wire.Task),
    createPushConfig: arbitraryWireValues(wire.TaskPushConfig),
    getPushConfig: arbitraryWireValues(wire.TaskPushConfig),
    listPushConfigs: fc.array(arbitraryWireValues(wire.TaskPushConfig), { maxLength: 2 }),
    deletePushConfig: fc.constant(null),
    getExtendedCard: cards,
  },
  events: arbitraryWireValues(wire.StreamEvent),
  cards,
}
