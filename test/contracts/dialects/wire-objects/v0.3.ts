import fc, { type Arbitrary } from 'fast-check'
import { id } from '../../../../src/dialects/limits.ts'
import * as card from '../../../../src/dialects/v0.3/card-schemas.ts'
import { v0_3, v0_3Client, v0_3Strict } from '../../../../src/dialects/v0.3/index.ts'
import * as request from '../../../../src/dialects/v0.3/request-schemas.ts'
import * as wire from '../../../../src/dialects/v0.3/schemas.ts'
import type { JsonObject } from '../../../../src/protocol/model.ts'
import { arbitraryOf } from '../../../support/arbitrary-of.ts'
import { wireValuesOf } from '../wire-values-of.ts'
import { both, type WireObjects } from './wire-objects.ts'

/** Of one task. No operation has a use for the metadata of such calls. */
const calls = (arbitraryOf(id) as Arbitrary<string>).map((taskId) => ({ id: taskId }))

export const of0_3: WireObjects = {
  servers: [v0_3, v0_3Strict],
  client: v0_3Client,
  requests: {
    ...both(wireValuesOf(request.SendParams)),
    getTask: wireValuesOf(request.GetTaskParams),
    listTasks: wireValuesOf(request.ListTasksParams),
    cancelTask: wireValuesOf(request.TaskParams),
    subscribeToTask: calls,
    createPushConfig: wireValuesOf(wire.TaskPushConfig).map(withConfigId),
    getPushConfig: wireValuesOf(request.GetPushConfigParams),
    listPushConfigs: calls,
    deletePushConfig: wireValuesOf(request.DeletePushConfigParams),
    getExtendedCard: fc.constant({}),
  },
  results: {
    sendMessage: wireValuesOf(wire.Outcome),
    getTask: wireValuesOf(wire.Task),
    listTasks: wireValuesOf(wire.TaskPage),
    cancelTask: wireValuesOf(wire.Task),
    createPushConfig: wireValuesOf(wire.TaskPushConfig),
    getPushConfig: wireValuesOf(wire.TaskPushConfig),
    listPushConfigs: fc.array(wireValuesOf(wire.TaskPushConfig), { maxLength: 2 }),
    deletePushConfig: fc.constant(null),
    getExtendedCard: wireValuesOf(card.AgentCard),
  },
  events: wireValuesOf(wire.StreamEvent),
  cards: wireValuesOf(card.AgentCard),
}

/** Servers name one without an id after its task. */
function withConfigId({ pushNotificationConfig, ...params }: JsonObject): JsonObject {
  return { ...params, pushNotificationConfig: { id: 'c', ...(pushNotificationConfig as JsonObject) } }
}
