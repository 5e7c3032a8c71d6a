import { describe, expect, it } from 'vitest'
import { arbitraryObjectOf } from '../../../test/support/arbitrary-of.ts'
import { expectIdentity } from '../../../test/support/expect-identity.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import type { Shape } from '../shape.ts'
import { Card } from './decode-card.ts'
import { v1_0, v1_0Client } from './index.ts'
import * as wire from './schemas.ts'

const { decodeRequest, encodeResult, encodeEvent, encodeCard } = v1_0
const { encodeRequest, decodeResult, decodeEvent, decodeCard } = v1_0Client

type Identities = readonly (readonly [Shape<unknown>, (wire: Json) => unknown])[]

function expectIdentities(identities: Identities): void {
  for (const [shape, thereAndBack] of identities) expectIdentity(arbitraryObjectOf(shape), thereAndBack)
}

const sent = decodeRequest.sendMessage({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } })
const address = { taskId: 't' }
const hook = { url: 'https://h' }

describe('what comes back as it went', () => {
  it('is a sent message', () => {
    // A caller speaks only for itself.
    const requests = arbitraryObjectOf(wire.SendMessageRequest).map(({ message, ...request }) => ({
      ...request,
      message: { ...(message as JsonObject), role: 'ROLE_USER' },
    }))
    expectIdentity(requests, (params) => encodeRequest.sendMessage(decodeRequest.sendMessage(params)))
    expectIdentity(requests, (params) => encodeRequest.streamMessage(decodeRequest.streamMessage(params)))
  })

  it('is every other request', () => {
    expectIdentities([
      [wire.GetTaskRequest, (params) => encodeRequest.getTask(decodeRequest.getTask(params))],
      [wire.ListTasksRequest, (params) => encodeRequest.listTasks(decodeRequest.listTasks(params))],
      [wire.CancelTaskRequest, (params) => encodeRequest.cancelTask(decodeRequest.cancelTask(params))],
      [wire.SubscribeToTaskRequest, (params) => encodeRequest.subscribeToTask(decodeRequest.subscribeToTask(params))],
      [
        wire.CreatePushConfigRequest,
        (config) => encodeRequest.createPushConfig(decodeRequest.createPushConfig(config)),
      ],
      [wire.PushConfigRequest, (params) => encodeRequest.getPushConfig(decodeRequest.getPushConfig(params))],
      [wire.PushConfigRequest, (params) => encodeRequest.deletePushConfig(decodeRequest.deletePushConfig(params))],
      [wire.ListPushConfigsRequest, (params) => encodeRequest.listPushConfigs(decodeRequest.listPushConfigs(params))],
      [wire.GetExtendedCardRequest, (params) => encodeRequest.getExtendedCard(decodeRequest.getExtendedCard(params))],
    ])
  })

  it('is every answer', () => {
    expectIdentities([
      [wire.SendMessageResponse, (result) => encodeResult.sendMessage(decodeResult.sendMessage(result, sent), sent)],
      [wire.Task, (result) => encodeResult.getTask(decodeResult.getTask(result, address), address)],
      [wire.Task, (result) => encodeResult.cancelTask(decodeResult.cancelTask(result, address), address)],
      [wire.PushConfig, (result) => encodeResult.createPushConfig(decodeResult.createPushConfig(result, hook), hook)],
      [wire.PushConfig, (result) => encodeResult.getPushConfig(decodeResult.getPushConfig(result, address), address)],
      [
        wire.ListPushConfigsResponse,
        (result) => encodeResult.listPushConfigs(decodeResult.listPushConfigs(result, address), address),
      ],
      [Card, (result) => encodeResult.getExtendedCard(decodeResult.getExtendedCard(result, {}), {})],
    ])
  })

  it('is a page of tasks, with or without their artifacts', () => {
    for (const includeArtifacts of [true, false]) {
      const pages = arbitraryObjectOf(wire.ListTasksResponse).map((page) => ({
        ...page,
        tasks: (page.tasks as readonly JsonObject[]).map(({ artifacts = [], ...task }) =>
          includeArtifacts ? { ...task, artifacts } : task,
        ),
      }))
      const request = { includeArtifacts }
      expectIdentity(pages, (result) => encodeResult.listTasks(decodeResult.listTasks(result, request), request))
    }
  })

  it('is every event of a stream', () => {
    expectIdentity(arbitraryObjectOf(wire.StreamResponse), (event) => {
      const [told, ...more] = encodeEvent(decodeEvent(event, sent), sent)
      expect(more).toEqual([])
      return told
    })
  })

  it('is every card', () => {
    expectIdentity(arbitraryObjectOf(Card), (card) => encodeCard(decodeCard(card)))
  })
})
