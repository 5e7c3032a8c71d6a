import fc from 'fast-check'
import { expect, it } from 'vitest'
import { validateA2A } from '../../schemas/typescript/index.ts'
import type { Json } from '../../src/core/base/json.ts'
import { v1_0Client } from '../../src/core/dialects/v1.0/client.ts'
import { AgentCard } from '../../src/core/dialects/v1.0/schemas.ts'
import { v1_0 } from '../../src/core/dialects/v1.0/server.ts'
import type { Operation, RequestOf, UnaryOperation } from '../../src/core/protocol/service.ts'
import { arbitraryWireValues } from '../contracts/dialects/arbitrary-wire-values.ts'
import { v1_0WireObjects } from '../contracts/dialects/wire-objects/v1.0.ts'
import { requestFor } from '../contracts/dialects/wire-objects/wire-objects.ts'

const requests: Readonly<Partial<Record<Operation, string>>> = {
  sendMessage: 'SendMessageRequest',
  streamMessage: 'SendMessageRequest',
  getTask: 'GetTaskRequest',
  listTasks: 'ListTasksRequest',
  cancelTask: 'CancelTaskRequest',
  subscribeToTask: 'SubscribeToTaskRequest',
  createPushConfig: 'TaskPushNotificationConfig',
  getPushConfig: 'GetTaskPushNotificationConfigRequest',
  listPushConfigs: 'ListTaskPushNotificationConfigsRequest',
  deletePushConfig: 'DeleteTaskPushNotificationConfigRequest',
  getExtendedCard: 'GetExtendedAgentCardRequest',
}

const results: Readonly<Partial<Record<UnaryOperation, string>>> = {
  sendMessage: 'SendMessageResponse',
  getTask: 'Task',
  listTasks: 'ListTasksResponse',
  cancelTask: 'Task',
  createPushConfig: 'TaskPushNotificationConfig',
  getPushConfig: 'TaskPushNotificationConfig',
  listPushConfigs: 'ListTaskPushNotificationConfigsResponse',
}

/** Without schemes of later versions, which the dialect passes on and the schema of this version does not list. */
const cards = arbitraryWireValues(AgentCard)

it.each(entriesOf(requests))('a request for %s is a valid %s', (operation, name) => {
  fc.assert(
    fc.property(v1_0WireObjects.requests[operation] ?? fc.constant({}), (wire) => {
      expectValid(name, v1_0Client.encodeRequest[operation](v1_0.decodeRequest[operation](wire) as never))
    }),
  )
})

it.each(entriesOf(results))('a result of %s is a valid %s', (operation, name) => {
  fc.assert(
    fc.property(v1_0WireObjects.results[operation] ?? fc.constant({}), (wire) => {
      const request = requestFor(wire) as RequestOf<Operation> as never
      expectValid(
        name,
        v1_0.encodeResult[operation](v1_0Client.decodeResult[operation](wire, request) as never, request),
      )
    }),
  )
})

it('a streamed event is a valid StreamResponse', () => {
  fc.assert(
    fc.property(v1_0WireObjects.events, (wire) => {
      const request = requestFor(wire)
      for (const event of v1_0.encodeEvent(v1_0Client.decodeEvent(wire, request), request))
        expectValid('StreamResponse', event)
    }),
  )
})

it('a published card is a valid AgentCard', () => {
  fc.assert(fc.property(cards, (wire) => expectValid('AgentCard', v1_0.encodeCard(v1_0Client.decodeCard(wire)))))
})

it.each([
  ['Part', { text: 'a', url: 'https://example.com' }],
  ['Part', { mediaType: 'text/plain' }],
  ['Part', { raw: 'not base64!' }],
  ['Task', { id: 't', status: { state: 'working' } }],
  ['Message', { messageId: 'm', role: 'ROLE_USER' }],
  ['StreamResponse', {}],
  ['AgentCard', { name: 'A' }],
])('a %s such as %j is invalid', (name, value) => {
  expect(validateA2A(name, value).valid).toBe(false)
})

function expectValid(name: string, value: Json): void {
  expect(validateA2A(name, JSON.parse(JSON.stringify(value)))).toEqual({ valid: true, errors: [] })
}

function entriesOf<K extends string>(names: Readonly<Partial<Record<K, string>>>): [K, string][] {
  return Object.entries(names) as [K, string][]
}
