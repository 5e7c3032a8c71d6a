import { expect, it } from 'vitest'
import type { Webhook } from '../store.ts'
import { encodeRequest } from './send.ts'

const key = { taskId: 'tâsk 1', owner: 'alice', id: 'c' }
const webhook: Webhook = {
  uid: 'u',
  config: { url: 'https://h/', token: 'secret', authentication: { scheme: 'Bearer', credentials: 'key' } },
  contextId: 'c',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  state: 'active',
  cursor: 0,
  givenUp: 0,
  dead: [],
  redriven: [],
  recent: [],
  created: 0,
}
const content = { generation: 7, attempt: 2, contentType: 'application/json', body: '{}' }

it('the headers of a request identify the delivery and carry its credentials', () => {
  const { headers, ...rest } = encodeRequest(key, webhook, content)
  expect(rest).toEqual({ url: 'https://h/', body: '{}' })
  expect(headers).toMatchObject({
    authorization: 'Bearer key',
    'content-type': 'application/json',
    'x-a2a-notification-token': 'secret',
    'x-a2a-delivery-id': 'u.7',
    'x-a2a-generation': '7',
    'x-a2a-task-id': 't%C3%A2sk%201',
    'x-a2a-attempt': '2',
    traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/),
  })
})

it('a config without credentials sends no credentials', () => {
  const bare = encodeRequest(
    key,
    { ...webhook, config: { url: 'https://h/', authentication: { scheme: 'Bearer' } } },
    content,
  )
  expect(bare.headers).not.toHaveProperty('authorization')
  expect(bare.headers).not.toHaveProperty('x-a2a-notification-token')
})

it('a delivery names the last generation before it that was delivered or given up', () => {
  const at = (generation: number) => ({ generation, attempts: 1, at: 0, latency: 0 })
  const previous = (more: Partial<Webhook>) =>
    encodeRequest(key, { ...webhook, ...more }, content).headers['x-a2a-previous-generation']
  expect(previous({})).toBe('0')
  expect(previous({ recent: [at(2), at(4)] })).toBe('4')
  expect(previous({ recent: [at(2)], dead: [at(5)] })).toBe('5')
  expect(previous({ recent: [at(2), at(7), at(9)] })).toBe('2')
})
