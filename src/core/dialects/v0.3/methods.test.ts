import { expect, it } from 'vitest'
import type { RestCall } from '../dialect.ts'
import { restServerBinding } from './methods.ts'
import { v0_3 } from './server.ts'

function callOf(call: Partial<RestCall>): RestCall {
  return { operation: 'sendMessage', query: {}, body: undefined, ...call }
}

it('a body is recognised by the form of its message or its push config', () => {
  const ours = [
    { message: { kind: 'message', parts: [] } },
    { message: { role: 'user', parts: [] } },
    { pushNotificationConfig: { url: 'https://h' } },
    { push_notification_config: { url: 'https://h' } },
  ]
  const others = [
    { message: { role: 'ROLE_USER', content: [] } },
    { name: 'tasks/T/pushNotificationConfigs/c', pushNotificationConfig: {} },
    undefined,
    [],
  ]
  for (const body of ours) expect(restServerBinding.recognises(callOf({ body }))).toBe(true)
  for (const body of others) expect(restServerBinding.recognises(callOf({ body }))).toBe(false)
})

it('params are collected from path, query and body', () => {
  const taskId = 'T'
  const body = { message: { kind: 'message' } }
  const url = 'https://h'
  expect(restServerBinding.params(callOf({ body }))).toBe(body)
  expect(restServerBinding.params(callOf({ operation: 'getTask', taskId, query: { historyLength: '2' } }))).toEqual({
    id: 'T',
    historyLength: '2',
  })
  expect(restServerBinding.params(callOf({ operation: 'cancelTask', taskId, body: { metadata: {} } }))).toEqual({
    id: 'T',
    metadata: {},
  })
  for (const config of [{ pushNotificationConfig: { url } }, { url }]) {
    expect(restServerBinding.params(callOf({ operation: 'createPushConfig', taskId, body: config }))).toEqual({
      taskId,
      pushNotificationConfig: { url },
    })
  }
  expect(restServerBinding.params(callOf({ operation: 'getPushConfig', taskId, configId: 'c' }))).toEqual({
    id: 'T',
    pushNotificationConfigId: 'c',
  })
  expect(restServerBinding.params(callOf({ operation: 'getExtendedCard' }))).toEqual({})
})

it('list filters are read from query strings', () => {
  const query = { contextId: '7', pageSize: '10', includeArtifacts: 'true', lastUpdatedAfter: '1000' }
  expect(restServerBinding.params(callOf({ operation: 'listTasks', query }))).toEqual({
    contextId: '7',
    pageSize: '10',
    includeArtifacts: true,
    lastUpdatedAfter: 1000,
  })
})

it('unreadable filters stay strings, to be rejected', () => {
  const list = (query: RestCall['query']) =>
    v0_3.decodeRequest.listTasks(restServerBinding.params(callOf({ operation: 'listTasks', query })))
  expect(list({ include_artifacts: 'false', last_updated_after: '0' })).toMatchObject({ includeArtifacts: false })
  expect(() => list({ includeArtifacts: 'yes' })).toThrow('includeArtifacts: expected true or false, got a string')
  expect(() => list({ lastUpdatedAfter: 'now' })).toThrow(
    'lastUpdatedAfter: expected a time in milliseconds since 1970, got "now"',
  )
})
