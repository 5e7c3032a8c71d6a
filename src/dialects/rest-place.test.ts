import { describe, expect, it } from 'vitest'
import type { Operation } from '../protocol/service.ts'
import { matchRoute } from '../transports/rest/routes.ts'
import type { ClientDialect } from './dialect.ts'
import { v0_3Client } from './v0.3/client.ts'
import { v0_3ProtoClient } from './v0.3-proto/client.ts'
import { v1_0Client } from './v1.0/client.ts'

const taskId = 'a/b ü'
const message = { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] }
const requests: Readonly<Record<Operation, object>> = {
  sendMessage: { message },
  streamMessage: { message },
  getTask: { taskId, historyLength: 3 },
  listTasks: { contextId: 'c', pageSize: 2, includeArtifacts: true },
  cancelTask: { taskId },
  subscribeToTask: { taskId },
  createPushConfig: { taskId, id: 'c?', url: 'https://example.com' },
  getPushConfig: { taskId, id: 'c?' },
  listPushConfigs: { taskId },
  deletePushConfig: { taskId, id: 'c?' },
  getExtendedCard: {},
}

function placeOf(dialect: ClientDialect, operation: Operation, request: object) {
  const encode = dialect.encodeRequest[operation] as (request: object) => Record<string, never>
  const place = dialect.rest?.toRequest(operation, encode(request))
  if (!place) throw new Error('no REST')
  return { ...place, path: `${dialect.rest?.prefix}${place.path}` }
}

describe.each([v1_0Client, v0_3ProtoClient, v0_3Client])('the paths of $name', (dialect) => {
  it.each(Object.keys(requests) as Operation[])('are those of our server: %s', (operation) => {
    const { method, path } = placeOf(dialect, operation, requests[operation])
    const isLegacy = dialect.version !== '1.0'
    expect(matchRoute(method, path)).toMatchObject({
      operation,
      isLegacy,
      ...('taskId' in requests[operation] && { taskId }),
      ...(/^(get|delete)PushConfig$/.test(operation) && { configId: 'c?' }),
    })
  })

  it('need an id where it is part of them', () => {
    expect(() => placeOf(dialect, 'getTask', { taskId: '' })).toThrow(/^taskId: expected an id/)
  })
})

it('a tenant of 1.0 is the first segment', () => {
  expect(placeOf(v1_0Client, 'getTask', { taskId: 't', tenant: 'a b' }).path).toBe('/a%20b/tasks/t')
})

it('what is not in the path is in the query or the body', () => {
  expect(placeOf(v1_0Client, 'getTask', { taskId: 't', historyLength: 0 })).toMatchObject({
    query: { historyLength: 0 },
  })
  expect(placeOf(v1_0Client, 'cancelTask', { taskId: 't', metadata: { a: 1 } })).toMatchObject({
    body: { metadata: { a: 1 } },
  })
  expect(placeOf(v0_3ProtoClient, 'createPushConfig', { taskId: 't', id: 'c', url: 'u' })).toMatchObject({
    body: { parent: 'tasks/t', configId: 'c', config: { pushNotificationConfig: { url: 'u' } } },
    alternativeBody: { pushNotificationConfig: { url: 'u' } },
  })
  expect(placeOf(v0_3Client, 'createPushConfig', { taskId: 't', url: 'u' })).toMatchObject({
    body: { pushNotificationConfig: { url: 'u' } },
  })
})
