import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arbitraryObjectOf, arbitraryOf } from '../../../test/support/arbitrary-of.ts'
import { expectIdentity } from '../../../test/support/expect-identity.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import { id } from '../limits.ts'
import type { Shape } from '../shape.ts'
import { v1_0, v1_0Client } from '../v1.0/index.ts'
import * as v1 from '../v1.0/schemas.ts'
import { Addresses, Card } from './decode-card.ts'
import { v0_3Proto, v0_3ProtoClient, v0_3ProtoStrict } from './index.ts'
import { configName, taskName } from './names.ts'
import * as request from './request-schemas.ts'
import * as wire from './schemas.ts'

const { encodeResult, encodeEvent, encodeCard } = v0_3Proto
const { encodeRequest, decodeResult, decodeEvent, decodeCard } = v0_3ProtoClient

type Identities = readonly (readonly [Arbitrary<JsonObject>, (wire: Json) => unknown])[]

function expectIdentities(identities: Identities): void {
  for (const [values, thereAndBack] of identities) expectIdentity(values, thereAndBack)
}

/** The form of names is not in the schema, where they are texts. */
function named(shape: Shape<unknown>, names: Readonly<Record<string, Arbitrary<Json>>>): Arbitrary<JsonObject> {
  return fc.tuple(arbitraryObjectOf(shape), fc.record(names)).map(([value, members]) => ({ ...value, ...members }))
}

const ids = arbitraryOf(id) as Arbitrary<string>
const name = ids.map(taskName)
const nameOfConfig = fc.record({ taskId: ids, id: ids }).map(configName)

/** A caller speaks only for itself. */
function asUser({ message, ...params }: JsonObject): JsonObject {
  return { ...params, message: { ...(message as JsonObject), role: 'ROLE_USER' } }
}

const cards = fc
  .tuple(arbitraryObjectOf(Addresses), arbitraryObjectOf(Card))
  .map(([addresses, card]): JsonObject => ({ ...addresses, ...card }))

const sent = { message: { messageId: 'm', role: 'user', parts: [] } } as const
const address = { taskId: 't' }
const hook = { url: 'https://h' }

describe('what comes back as it went', () => {
  for (const [reading, { decodeRequest }] of Object.entries({ lenient: v0_3Proto, strict: v0_3ProtoStrict })) {
    it(`is every request, to a ${reading} reader`, () => {
      const messages = arbitraryObjectOf(request.SendMessageRequest).map(asUser)
      const tasks = named(request.TaskRequest, { name })
      const configs = named(request.PushConfigRequest, { name: nameOfConfig })
      expectIdentities([
        [messages, (params) => encodeRequest.sendMessage(decodeRequest.sendMessage(params))],
        [messages, (params) => encodeRequest.streamMessage(decodeRequest.streamMessage(params))],
        [named(request.GetTaskRequest, { name }), (params) => encodeRequest.getTask(decodeRequest.getTask(params))],
        [
          arbitraryObjectOf(request.ListTasksRequest),
          (params) => encodeRequest.listTasks(decodeRequest.listTasks(params)),
        ],
        [tasks, (params) => encodeRequest.cancelTask(decodeRequest.cancelTask(params))],
        [tasks, (params) => encodeRequest.subscribeToTask(decodeRequest.subscribeToTask(params))],
        [
          named(request.CreatePushConfigRequest, { parent: name }),
          (params) => encodeRequest.createPushConfig(decodeRequest.createPushConfig(params)),
        ],
        [configs, (params) => encodeRequest.getPushConfig(decodeRequest.getPushConfig(params))],
        [configs, (params) => encodeRequest.deletePushConfig(decodeRequest.deletePushConfig(params))],
        [
          named(request.ListPushConfigsRequest, { parent: name }),
          (params) => encodeRequest.listPushConfigs(decodeRequest.listPushConfigs(params)),
        ],
        [fc.constant({}), (params) => encodeRequest.getExtendedCard(decodeRequest.getExtendedCard(params))],
      ])
    })
  }

  it('is every answer', () => {
    const tasks = arbitraryObjectOf(wire.Task)
    const configs = named(wire.TaskPushConfig, { name: nameOfConfig })
    expectIdentities([
      [
        arbitraryObjectOf(wire.SendMessageResponse),
        (result) => encodeResult.sendMessage(decodeResult.sendMessage(result, sent), sent),
      ],
      [tasks, (result) => encodeResult.getTask(decodeResult.getTask(result, address), address)],
      [tasks, (result) => encodeResult.cancelTask(decodeResult.cancelTask(result, address), address)],
      [
        arbitraryObjectOf(wire.ListTasksResponse),
        (result) => encodeResult.listTasks(decodeResult.listTasks(result, {}), {}),
      ],
      [configs, (result) => encodeResult.createPushConfig(decodeResult.createPushConfig(result, hook), hook)],
      [configs, (result) => encodeResult.getPushConfig(decodeResult.getPushConfig(result, address), address)],
      [
        fc.record({ configs: fc.array(configs, { minLength: 1, maxLength: 2 }) }),
        (result) => encodeResult.listPushConfigs(decodeResult.listPushConfigs(result, address), address),
      ],
      [cards, (result) => encodeResult.getExtendedCard(decodeResult.getExtendedCard(result, {}), {})],
    ])
  })

  it('is every event of a stream', () => {
    expectIdentity(arbitraryObjectOf(wire.StreamResponse), (event) => {
      const [told, ...more] = encodeEvent(decodeEvent(event, sent), sent)
      expect(more).toEqual([])
      return told
    })
  })

  it('is every card', () => {
    expectIdentity(cards, (card) => encodeCard(decodeCard(card)))
  })

  it('is every message of 1.0 that was written in 0.3, but for metadata that is empty', () => {
    const withoutEmpty = (part: JsonObject) => {
      const { metadata, ...content } = part
      return metadata && Object.keys(metadata).length > 0 ? part : content
    }
    const messages = arbitraryObjectOf(v1.SendMessageRequest).map(({ message }) => {
      const parts = (message as JsonObject).parts as readonly JsonObject[]
      return asUser({ message: withoutEmpty({ ...(message as JsonObject), parts: parts.map(withoutEmpty) }) })
    })
    expectIdentity(messages, (params) => {
      const older = encodeRequest.streamMessage(v1_0.decodeRequest.streamMessage(params))
      return v1_0Client.encodeRequest.streamMessage(v0_3Proto.decodeRequest.streamMessage(older))
    })
  })
})
