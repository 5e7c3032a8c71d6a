import { describe, expect, it } from 'vitest'
import type { Operation } from '../protocol/service.ts'
import type { ClientDialect } from './dialect.ts'
import { matchRoute } from './rest-routes.ts'
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

function restRequestOf(dialect: ClientDialect, operation: Operation, request: object) {
  const encode = dialect.encodeRequest[operation] as (request: object) => Record<string, never>
  const restRequest = dialect.rest?.toRequest(operation, encode(request))
  if (!restRequest) throw new Error('no REST')
  return { ...restRequest, path: `${dialect.rest?.prefix}${restRequest.path}` }
}

describe.each([v1_0Client, v0_3ProtoClient, v0_3Client])('the REST paths of $name', (dialect) => {
  it.each(Object.keys(requests) as Operation[])('the path of %s matches the route of the server', (operation) => {
    const { method, path } = restRequestOf(dialect, operation, requests[operation])
    expect(matchRoute(method, path)).toMatchObject({
      operation,
      prefix: dialect.rest?.prefix,
      ...('taskId' in requests[operation] && { taskId }),
      ...(/^(get|delete)PushConfig$/.test(operation) && { configId: 'c?' }),
    })
  })

  it('a path with an id requires the id', () => {
    expect(() => restRequestOf(dialect, 'getTask', { taskId: '' })).toThrow(/^taskId: expected an id/)
  })
})

it('a 1.0 tenant is the first segment of the path', () => {
  expect(restRequestOf(v1_0Client, 'getTask', { taskId: 't', tenant: 'a b' }).path).toBe('/a%20b/tasks/t')
})

it('fields that are not in the path are in the query or the body', () => {
  expect(restRequestOf(v1_0Client, 'getTask', { taskId: 't', historyLength: 0 })).toMatchObject({
    query: { historyLength: 0 },
  })
  expect(restRequestOf(v1_0Client, 'cancelTask', { taskId: 't', metadata: { a: 1 } })).toMatchObject({
    body: { metadata: { a: 1 } },
  })
  expect(restRequestOf(v0_3ProtoClient, 'createPushConfig', { taskId: 't', id: 'c', url: 'u' })).toMatchObject({
    body: { parent: 'tasks/t', configId: 'c', config: { pushNotificationConfig: { url: 'u' } } },
    alternativeBody: { pushNotificationConfig: { url: 'u' } },
  })
  expect(restRequestOf(v0_3Client, 'createPushConfig', { taskId: 't', url: 'u' })).toMatchObject({
    body: { pushNotificationConfig: { url: 'u' } },
  })
})
