import fc from 'fast-check'
import { v0_3Client } from '../../../../src/dialects/v0.3/client.ts'
import * as request from '../../../../src/dialects/v0.3/schemas.ts'
import * as wire from '../../../../src/dialects/v0.3/schemas.ts'
import * as card from '../../../../src/dialects/v0.3/schemas.ts'
import * as seldom from '../../../../src/dialects/v0.3/schemas.ts'
import { v0_3, v0_3Strict } from '../../../../src/dialects/v0.3/server.ts'
import { wireValuesOf } from '../wire-values-of.ts'
import { withStrangeSchemes } from '../with-strange-schemes.ts'
import { both, type WireObjects } from './wire-objects.ts'

const cards = withStrangeSchemes(wireValuesOf(card.AgentCard), [
  { type: 'holographic', depth: 3 },
  { type: 'oauth2', flows: { telepathic: { scopes: {} } } },
  {},
])

export const of0_3: WireObjects = {
  servers: [v0_3, v0_3Strict],
  client: v0_3Client,
  requests: {
    ...both(wireValuesOf(request.SendParams)),
    getTask: wireValuesOf(request.GetTaskParams),
    listTasks: wireValuesOf(request.ListTasksParams),
    cancelTask: wireValuesOf(request.TaskParams),
    subscribeToTask: wireValuesOf(request.TaskParams),
    createPushConfig: wireValuesOf(seldom.TaskPushConfig),
    getPushConfig: wireValuesOf(request.GetPushConfigParams),
    listPushConfigs: wireValuesOf(request.TaskParams),
    deletePushConfig: wireValuesOf(request.DeletePushConfigParams),
    getExtendedCard: fc.constant({}),
  },
  results: {
    sendMessage: wireValuesOf(wire.Outcome),
    getTask: wireValuesOf(wire.Task),
    listTasks: wireValuesOf(seldom.TaskPage),
    cancelTask: wireValuesOf(wire.Task),
    createPushConfig: wireValuesOf(seldom.TaskPushConfig),
    getPushConfig: wireValuesOf(seldom.TaskPushConfig),
    listPushConfigs: fc.array(wireValuesOf(seldom.TaskPushConfig), { maxLength: 2 }),
    deletePushConfig: fc.constant(null),
    getExtendedCard: cards,
  },
  events: wireValuesOf(wire.StreamEvent),
  cards,
}
