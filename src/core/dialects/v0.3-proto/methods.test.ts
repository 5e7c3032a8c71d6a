import { describe, expect, it } from 'vitest'
import type { RestCall } from '../dialect.ts'
import { restServerBinding } from './methods.ts'
import { v0_3Proto } from './server.ts'

const { params, recognises } = restServerBinding
const path = { taskId: 't', query: {}, body: undefined } as const
const config = { pushNotificationConfig: { url: 'https://h' } }

describe('the params of a REST call', () => {
  it('params have resource names from the path', () => {
    expect(params({ ...path, operation: 'getTask', query: { historyLength: '0' } })).toEqual({
      name: 'tasks/t',
      historyLength: '0',
    })
    expect(params({ ...path, operation: 'cancelTask', body: { name: 'tasks/other' } })).toEqual({ name: 'tasks/t' })
    expect(params({ ...path, operation: 'cancelTask', body: null })).toEqual({ name: 'tasks/t' })
    expect(params({ ...path, operation: 'deletePushConfig', configId: 'c' })).toEqual({
      name: 'tasks/t/pushNotificationConfigs/c',
    })
    expect(params({ ...path, operation: 'listPushConfigs', query: { pageSize: '5' } })).toEqual({
      parent: 'tasks/t',
      pageSize: '5',
    })
  })

  it('params have a new push config from the body, bare or wrapped', () => {
    const create = (body: unknown) => params({ ...path, operation: 'createPushConfig', body })
    expect(create(config)).toEqual({ parent: 'tasks/t', config })
    expect(create({ config, configId: 'c' })).toEqual({ parent: 'tasks/t', configId: 'c', config })
    expect(create({ parent: 'tasks/other', config_id: 'c', config })).toEqual({
      parent: 'tasks/t',
      config_id: 'c',
      config,
    })
  })

  it('params have the id of a new push config from its name, if it has no other', () => {
    const named = { ...config, name: 'tasks/t/pushNotificationConfigs/c' }
    const create = (query: RestCall['query'], body: unknown) =>
      v0_3Proto.decodeRequest.createPushConfig(params({ ...path, operation: 'createPushConfig', query, body }))
    expect(create({}, named)).toMatchObject({ taskId: 't', id: 'c', url: 'https://h' })
    expect(create({}, { config: named })).toMatchObject({ id: 'c' })
    expect(create({ configId: 'd' }, named)).toMatchObject({ id: 'd' })
    expect(create({}, { config: named, config_id: 'd' })).toMatchObject({ id: 'd' })
    expect(create({}, config)).toMatchObject({ id: 't' })
  })

  it('params have flags from query strings', () => {
    const list = (query: RestCall['query']) => params({ operation: 'listTasks', query, body: undefined })
    expect(list({ includeArtifacts: 'true', pageToken: 'false' })).toEqual({
      includeArtifacts: true,
      pageToken: 'false',
    })
    expect(list({ include_artifacts: 'false' })).toEqual({ includeArtifacts: false })
  })

  it('params must be an object', () => {
    expect(() => params({ ...path, operation: 'cancelTask', body: [] })).toThrow(
      'params: expected an object, got a list',
    )
  })
})

it('a call is recognised by its role, its content or the wrapper of its config', () => {
  const recognised = (body: unknown) => recognises({ operation: 'sendMessage', query: {}, body })
  expect(recognised({ message: { content: [] } })).toBe(true)
  expect(recognised({ request: { role: 'ROLE_USER' } })).toBe(true)
  expect(recognised({ message: { role: 1, parts: [] } })).toBe(true)
  expect(recognised({ config })).toBe(true)
  expect(recognised({ name: 'tasks/t/pushNotificationConfigs/c', ...config })).toBe(true)
  expect(recognised(config)).toBe(false)
  expect(recognised({ message: { kind: 'message', role: 'user', parts: [] } })).toBe(false)
  expect(recognised(undefined)).toBe(false)
})
