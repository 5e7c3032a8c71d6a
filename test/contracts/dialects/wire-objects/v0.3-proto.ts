import fc, { type Arbitrary } from 'fast-check'
import type { JsonObject } from '../../../../src/core/base/json.ts'
import { id } from '../../../../src/core/dialects/codec.ts'
import { v0_3ProtoClient } from '../../../../src/core/dialects/v0.3-proto/client.ts'
import { decodeEvent, decodeResult } from '../../../../src/core/dialects/v0.3-proto/decode.ts'
import { encodeEvent, encodeRequest, encodeResult } from '../../../../src/core/dialects/v0.3-proto/encode.ts'
import * as request from '../../../../src/core/dialects/v0.3-proto/requests.ts'
import { configName, taskName } from '../../../../src/core/dialects/v0.3-proto/resource-names.ts'
import * as wire from '../../../../src/core/dialects/v0.3-proto/schemas.ts'
import { v0_3Proto } from '../../../../src/core/dialects/v0.3-proto/server.ts'
import type { Schema } from '../../../../src/core/schema/schema.ts'
import { arbitraryOf } from '../../../support/schema/arbitrary-of.ts'
import { arbitraryWireValues, withUnknownSchemes } from '../arbitrary-wire-values.ts'
import { asUser, unaryAndStream, type WireObjects } from './wire-objects.ts'

const ids = arbitraryOf(id) as Arbitrary<string>
const taskNames = ids.map(taskName)
const configNames = fc.record({ taskId: ids, id: ids }).map(configName)
const configs = withNames(wire.TaskPushConfig, { name: configNames })

const cards = withUnknownSchemes(arbitraryWireValues(wire.AgentCard), [
  { holographicSecurityScheme: { depth: 3 } },
  { oauth2SecurityScheme: { flows: { deviceCode: { tokenUrl: 'https://h', scopes: {} } } } },
  {},
])

/** The newest proto of 0.3, without the translation into the form of a peer: `src/core/dialects/v0.3-proto/` tests that. */
const server = { ...v0_3Proto, decodeRequest: request.decodeRequest, encodeResult, encodeEvent }

export const v0_3ProtoWireObjects: WireObjects = {
  servers: [server, { ...server, decodeRequest: request.decodeRequestStrictly }],
  client: {
    ...v0_3ProtoClient,
    encodeRequest,
    decodeResult: { ...decodeResult, getExtendedCard: v0_3ProtoClient.decodeResult.getExtendedCard },
    decodeEvent,
  },
  requests: {
    ...unaryAndStream(arbitraryWireValues(request.SendMessageRequest).map(asUser)),
    getTask: withNames(request.GetTaskRequest, { name: taskNames }),
    listTasks: arbitraryWireValues(request.ListTasksRequest),
    cancelTask: withNames(request.TaskRequest, { name: taskNames }),
    subscribeToTask: withNames(request.TaskRequest, { name: taskNames }),
    createPushConfig: withNames(request.CreatePushConfigRequest, { parent: taskNames }),
    getPushConfig: withNames(request.PushConfigRequest, { name: configNames }),
    listPushConfigs: withNames(request.ListPushConfigsRequest, { parent: taskNames }),
    deletePushConfig: withNames(request.PushConfigRequest, { name: configNames }),
    getExtendedCard: fc.constant({}),
  },
  results: {
    sendMessage: arbitraryWireValues(wire.SendMessageResponse),
    getTask: arbitraryWireValues(wire.Task),
    listTasks: arbitraryWireValues(wire.ListTasksResponse),
    cancelTask: arbitraryWireValues(wire.Task),
    createPushConfig: configs,
    getPushConfig: configs,
    listPushConfigs: fc.record(
      { configs: fc.array(configs, { minLength: 1, maxLength: 2 }), nextPageToken: ids },
      { requiredKeys: [] },
    ),
    deletePushConfig: fc.constant({}),
    getExtendedCard: cards,
  },
  events: arbitraryWireValues(wire.StreamResponse),
  cards,
}

/** Replaces the resource names: in the JSON Schema they are any strings. */
function withNames(schema: Schema<unknown>, names: Readonly<Record<string, Arbitrary<string>>>): Arbitrary<JsonObject> {
  return fc.tuple(arbitraryWireValues(schema), fc.record(names)).map(([value, members]) => ({ ...value, ...members }))
}
