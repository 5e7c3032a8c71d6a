import fc from 'fast-check'
import { v0_1Client } from '../../../../src/core/dialects/v0.1/client.ts'
import * as request from '../../../../src/core/dialects/v0.1/requests.ts'
import * as wire from '../../../../src/core/dialects/v0.1/schemas.ts'
import { v0_1, v0_1Strict } from '../../../../src/core/dialects/v0.1/server.ts'
import { arbitraryWireValues } from '../arbitrary-wire-values.ts'
import { unaryAndStream, type WireObjects } from './wire-objects.ts'

export const v0_1WireObjects: WireObjects = {
  servers: [v0_1, v0_1Strict],
  client: v0_1Client,
  requests: {
    // A session with the id of its task counts as unknown, and is not sent.
    ...unaryAndStream(arbitraryWireValues(request.SendParams).filter(({ id, sessionId }) => id !== sessionId)),
    getTask: arbitraryWireValues(request.TaskQueryParams),
    cancelTask: arbitraryWireValues(request.TaskParams),
    subscribeToTask: arbitraryWireValues(request.TaskQueryParams),
    createPushConfig: arbitraryWireValues(wire.TaskPushConfig),
    getPushConfig: arbitraryWireValues(request.TaskParams),
  },
  results: {
    sendMessage: arbitraryWireValues(wire.Task),
    getTask: arbitraryWireValues(wire.Task),
    cancelTask: arbitraryWireValues(wire.Task),
    createPushConfig: arbitraryWireValues(wire.TaskPushConfig),
    getPushConfig: arbitraryWireValues(wire.TaskPushConfig),
  },
  events: fc.oneof(arbitraryWireValues(wire.StatusUpdate), arbitraryWireValues(wire.ArtifactUpdate)),
  cards: arbitraryWireValues(wire.AgentCard),
}
