import fc, { type Arbitrary } from 'fast-check'
import type { JsonObject } from '../../../../src/base/json.ts'
import { id } from '../../../../src/dialects/request-limits.ts'
import { v0_3ProtoClient } from '../../../../src/dialects/v0.3-proto/client.ts'
import { configName, taskName } from '../../../../src/dialects/v0.3-proto/resource-names.ts'
import * as request from '../../../../src/dialects/v0.3-proto/schemas.ts'
import * as wire from '../../../../src/dialects/v0.3-proto/schemas.ts'
import * as card from '../../../../src/dialects/v0.3-proto/schemas.ts'
import * as seldom from '../../../../src/dialects/v0.3-proto/schemas.ts'
import { v0_3Proto, v0_3ProtoStrict } from '../../../../src/dialects/v0.3-proto/server.ts'
import type { Schema } from '../../../../src/schema/schema.ts'
import { arbitraryOf } from '../../../support/schema/arbitrary-of.ts'
import { wireValuesOf } from '../wire-values-of.ts'
import { withStrangeSchemes } from '../with-strange-schemes.ts'
import { asUser, both, type WireObjects } from './wire-objects.ts'

const ids = arbitraryOf(id) as Arbitrary<string>
const name = ids.map(taskName)
const nameOfConfig = fc.record({ taskId: ids, id: ids }).map(configName)
const namedConfigs = named(seldom.TaskPushConfig, { name: nameOfConfig })

const cards = withStrangeSchemes(wireValuesOf(card.AgentCard), [
  { holographicSecurityScheme: { depth: 3 } },
  { oauth2SecurityScheme: { flows: { deviceCode: { tokenUrl: 'https://h', scopes: {} } } } },
  {},
])

export const of0_3Proto: WireObjects = {
  servers: [v0_3Proto, v0_3ProtoStrict],
  client: v0_3ProtoClient,
  requests: {
    ...both(wireValuesOf(request.SendMessageRequest).map(asUser)),
    getTask: named(request.GetTaskRequest, { name }),
    listTasks: wireValuesOf(request.ListTasksRequest),
    cancelTask: named(request.TaskRequest, { name }),
    subscribeToTask: named(request.TaskRequest, { name }),
    createPushConfig: named(request.CreatePushConfigRequest, { parent: name }),
    getPushConfig: named(request.PushConfigRequest, { name: nameOfConfig }),
    listPushConfigs: named(request.ListPushConfigsRequest, { parent: name }),
    deletePushConfig: named(request.PushConfigRequest, { name: nameOfConfig }),
    getExtendedCard: fc.constant({}),
  },
  results: {
    sendMessage: wireValuesOf(wire.SendMessageResponse),
    getTask: wireValuesOf(wire.Task),
    listTasks: wireValuesOf(seldom.ListTasksResponse),
    cancelTask: wireValuesOf(wire.Task),
    createPushConfig: namedConfigs,
    getPushConfig: namedConfigs,
    listPushConfigs: fc.record(
      { configs: fc.array(namedConfigs, { minLength: 1, maxLength: 2 }), nextPageToken: ids },
      { requiredKeys: [] },
    ),
    deletePushConfig: fc.constant({}),
    getExtendedCard: cards,
  },
  events: wireValuesOf(wire.StreamResponse),
  cards,
}

/** The form of names is not in the schema, where they are texts. */
function named(schema: Schema<unknown>, names: Readonly<Record<string, Arbitrary<string>>>): Arbitrary<JsonObject> {
  return fc.tuple(wireValuesOf(schema), fc.record(names)).map(([value, members]) => ({ ...value, ...members }))
}
