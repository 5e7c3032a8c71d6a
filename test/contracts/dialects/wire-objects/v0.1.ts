import fc from 'fast-check'
import { v0_1Client } from '../../../../src/dialects/v0.1/client.ts'
import * as card from '../../../../src/dialects/v0.1/schemas.ts'
import * as seldom from '../../../../src/dialects/v0.1/schemas.ts'
import * as request from '../../../../src/dialects/v0.1/schemas.ts'
import * as wire from '../../../../src/dialects/v0.1/schemas.ts'
import { v0_1, v0_1Strict } from '../../../../src/dialects/v0.1/server.ts'
import { wireValuesOf } from '../wire-values-of.ts'
import { both, type WireObjects } from './wire-objects.ts'

export const of0_1: WireObjects = {
  servers: [v0_1, v0_1Strict],
  client: v0_1Client,
  requests: {
    ...both(wireValuesOf(request.SendParams)),
    getTask: wireValuesOf(request.TaskQueryParams),
    cancelTask: wireValuesOf(request.TaskParams),
    subscribeToTask: wireValuesOf(request.TaskQueryParams),
    createPushConfig: wireValuesOf(seldom.TaskPushConfig),
    getPushConfig: wireValuesOf(request.TaskParams),
  },
  results: {
    sendMessage: wireValuesOf(wire.Task),
    getTask: wireValuesOf(wire.Task),
    cancelTask: wireValuesOf(wire.Task),
    createPushConfig: wireValuesOf(seldom.TaskPushConfig),
    getPushConfig: wireValuesOf(seldom.TaskPushConfig),
  },
  events: fc.oneof(wireValuesOf(wire.StatusUpdate), wireValuesOf(wire.ArtifactUpdate)),
  cards: wireValuesOf(card.AgentCard),
}
