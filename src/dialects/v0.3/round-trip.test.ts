import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arbitraryObjectOf, arbitraryOf } from '../../../test/support/arbitrary-of.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import { list, type Shape } from '../shape.ts'
import { v1_0, v1_0Client } from '../v1.0/index.ts'
import * as v1 from '../v1.0/schemas.ts'
import { AgentCard, SecurityScheme } from './card-schema.ts'
import { v0_3, v0_3Client, v0_3Strict } from './index.ts'
import * as request from './request-schemas.ts'
import * as wire from './schemas.ts'

const { encodeResult, encodeEvent, encodeCard } = v0_3
const { decodeRequest } = v0_3Strict
const { encodeRequest, decodeResult, decodeEvent, decodeCard } = v0_3Client

/** The value survives as JSON, whatever the order of its members. */
function expectIdentity(values: Arbitrary<Json>, there: (wire: Json) => unknown): void {
  fc.assert(
    fc.property(values, (value) => {
      const text = JSON.stringify(value)
      expect(JSON.parse(JSON.stringify(there(JSON.parse(text))))).toEqual(JSON.parse(text))
    }),
  )
}

function expectIdentities(identities: readonly (readonly [Shape<unknown>, (wire: Json) => unknown])[]): void {
  for (const [shape, there] of identities) expectIdentity(arbitraryOf(shape), there)
}

const sent = decodeRequest.sendMessage({
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] },
})
const address = { taskId: 't' }
const hook = { url: 'https://h' }

describe('what comes back as it went', () => {
  it('is every request', () => {
    expectIdentities([
      [request.SendParams, (params) => encodeRequest.sendMessage(decodeRequest.sendMessage(params))],
      [request.SendParams, (params) => encodeRequest.streamMessage(decodeRequest.streamMessage(params))],
      [request.GetTaskParams, (params) => encodeRequest.getTask(decodeRequest.getTask(params))],
      [request.ListTasksParams, (params) => encodeRequest.listTasks(decodeRequest.listTasks(params))],
      [request.TaskParams, (params) => encodeRequest.cancelTask(decodeRequest.cancelTask(params))],
      [request.GetPushConfigParams, (params) => encodeRequest.getPushConfig(decodeRequest.getPushConfig(params))],
      [request.DeletePushConfigParams, (ref) => encodeRequest.deletePushConfig(decodeRequest.deletePushConfig(ref))],
    ])
  })

  it('is a call about a task, but for metadata that no operation has a use for', () => {
    const bare = arbitraryObjectOf(request.TaskParams).map(({ id = '' }) => ({ id }))
    expectIdentity(bare, (params) => encodeRequest.subscribeToTask(decodeRequest.subscribeToTask(params)))
    expectIdentity(bare, (params) => encodeRequest.listPushConfigs(decodeRequest.listPushConfigs(params)))
  })

  it('is a push config with an id', () => {
    const configs = arbitraryObjectOf(wire.TaskPushConfig).map(({ pushNotificationConfig, ...config }) => ({
      ...config,
      pushNotificationConfig: { id: 'c', ...(pushNotificationConfig as JsonObject) },
    }))
    expectIdentity(configs, (params) => encodeRequest.createPushConfig(decodeRequest.createPushConfig(params)))
  })

  it('is every answer', () => {
    expectIdentities([
      [wire.Outcome, (result) => encodeResult.sendMessage(decodeResult.sendMessage(result, sent), sent)],
      [wire.Task, (result) => encodeResult.getTask(decodeResult.getTask(result, address), address)],
      [wire.Task, (result) => encodeResult.cancelTask(decodeResult.cancelTask(result, address), address)],
      [wire.TaskPage, (result) => encodeResult.listTasks(decodeResult.listTasks(result, {}), {})],
      [
        wire.TaskPushConfig,
        (result) => encodeResult.createPushConfig(decodeResult.createPushConfig(result, hook), hook),
      ],
      [
        wire.TaskPushConfig,
        (config) => encodeResult.getPushConfig(decodeResult.getPushConfig(config, address), address),
      ],
      [
        list(wire.TaskPushConfig),
        (result) => encodeResult.listPushConfigs(decodeResult.listPushConfigs(result, address), address),
      ],
    ])
  })

  it('is every event of a stream, but for a state that the agent does not know', () => {
    const events = arbitraryObjectOf(wire.StreamEvent).map((event) => {
      const status = event.status as JsonObject | undefined
      const isUnknown = event.kind === 'status-update' && status?.state === 'unknown'
      return isUnknown ? { ...event, status: { ...status, state: 'working' } } : event
    })
    expectIdentity(events, (event) => {
      const [told, ...more] = encodeEvent(decodeEvent(event, sent), sent)
      expect(more).toEqual([])
      return told
    })
  })

  it('is every part, also one whose metadata has the keys that 0.3 lends to other versions', () => {
    const values = fc.constantFrom<Json>(true, false, '', 'x', null, { value: 1 }, [])
    const metadata = fc.dictionary(fc.constantFrom('a2a.mediaType', 'a2a.filename', 'data_part_compat', 'k'), values)
    const data = fc.dictionary(fc.constantFrom('value', 'other'), values)
    const parts = fc.oneof(
      fc.record({ kind: fc.constant('data'), data, metadata }),
      fc.record({ kind: fc.constant('text'), text: fc.string(), metadata }),
      fc.record({ kind: fc.constant('file'), file: fc.constant({ uri: 'https://f' }), metadata }),
    ) as Arbitrary<JsonObject>
    const messages = parts.map((part) => ({ kind: 'message', messageId: 'm', role: 'agent', parts: [part] }))
    expectIdentity(messages, (result) => encodeResult.sendMessage(decodeResult.sendMessage(result, sent), sent))
  })

  it('is every card', () => {
    expectIdentity(arbitraryOf(AgentCard), (card) => encodeCard(decodeCard(card)))
    expectIdentity(arbitraryOf(AgentCard), (card) =>
      encodeResult.getExtendedCard(decodeResult.getExtendedCard(card, {}), {}),
    )
  })

  it('is every card whose schemes are required under names that can be taken for others', () => {
    const names = fc.constantFrom('a', 'b', 'a.password', 'a.clientCredentials', 'a.password.implicit')
    const requirements = fc.array(fc.dictionary(names, fc.array(fc.constantFrom('read', 'write'), { maxLength: 2 })), {
      maxLength: 3,
    })
    const cards = fc
      .tuple(arbitraryObjectOf(AgentCard), fc.dictionary(names, arbitraryOf(SecurityScheme)), requirements)
      .map(([card, securitySchemes, security]) => ({ ...card, securitySchemes, security }) as JsonObject)
    expectIdentity(cards, (card) => encodeCard(decodeCard(card)))
  })
})

it('a card that 0.3 never carried says the same after it was written in 0.3', () => {
  fc.assert(
    fc.property(arbitraryOf(AgentCard), (given) => {
      const { carry: _, ...card } = decodeCard(given)
      const { carry: __, ...again } = decodeCard(encodeCard(card))
      expect(again).toEqual(card)
    }),
  )
})

it('a message of 1.0 says the same after it was written in 0.3, but for metadata that is empty', () => {
  const withoutEmpty = (part: JsonObject) => {
    const { metadata, ...content } = part
    return metadata && Object.keys(metadata).length > 0 ? part : content
  }
  const messages = arbitraryObjectOf(v1.SendMessageRequest).map((params) => {
    const message = params.message as JsonObject & { readonly parts: readonly JsonObject[] }
    return { message: { ...message, role: 'ROLE_USER', parts: message.parts.map(withoutEmpty) } }
  })
  expectIdentity(messages, (params) => {
    const older = encodeRequest.streamMessage(v1_0.decodeRequest.streamMessage(params))
    return v1_0Client.encodeRequest.streamMessage(decodeRequest.streamMessage(older))
  })
})
