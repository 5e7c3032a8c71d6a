import { type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

async function open() {
  const { server } = await startTestServer(async (turn) => turn.text, { grpc: true })
  return server
}

type Headers = Readonly<Record<string, string>>

async function post(url: string, body: object, headers: Headers = {}): Promise<string> {
  const all = { 'content-type': 'application/json', ...headers }
  const response = await fetch(url, { method: 'POST', headers: all, body: JSON.stringify(body) })
  const { error, message } = await response.json()
  return `${message ?? ''} ${JSON.stringify(error ?? {})}`
}

const newest = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const kind = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
const proto = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] }
const first = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }

/** A request that mixes two versions, and the versions that the error must name. */
type Mix = readonly [title: string, method: string, params: object, headers: Headers, versions: readonly string[]]

const overRpc: readonly Mix[] = [
  ['a 0.3 role in 1.0', 'SendMessage', { message: { ...newest, role: 'user' } }, {}, ['1.0', '0.3']],
  [
    '0.3 parts in 1.0',
    'SendMessage',
    { message: { ...newest, parts: kind.parts.map(({ kind }) => ({ kind })) } },
    {},
    ['1.0', '0.3'],
  ],
  [
    '0.1 parts in 1.0',
    'SendMessage',
    { message: { ...newest, parts: [{ type: 'file', file: {} }] } },
    {},
    ['1.0', '0.1'],
  ],
  ['a 1.0 role in 0.3', 'message/send', { message: { ...kind, role: 'ROLE_USER' } }, {}, ['0.3', '1.0']],
  ['a 1.0 message in 0.3', 'message/send', { message: newest }, {}, ['0.3', '1.0']],
  ['a 1.0 part in 0.3', 'message/send', { message: { ...kind, parts: [{ url: 'https://h' }] } }, {}, ['0.3', '1.0']],
  ['a 1.0 message in 0.1', 'tasks/send', { id: 't', message: newest }, {}, ['0.1', '1.0']],
  [
    'a 1.0 part in 0.1',
    'tasks/send',
    { id: 't', message: { role: 'user', parts: [{ url: 'https://h' }] } },
    {},
    ['0.1', '1.0'],
  ],
  ['a 0.3 method in 1.0', 'message/send', { message: kind }, { 'a2a-version': '1.0' }, ['1.0', '0.3']],
  ['a 1.0 method in 0.3', 'SendMessage', { message: newest }, { 'a2a-version': '0.3' }, ['0.3', '1.0']],
  ['a 0.1 method in 0.2', 'tasks/send', { id: 't', message: first }, { 'a2a-version': '0.2' }, ['0.2', '0.1']],
]

describe('a JSON-RPC request that mixes two versions', () => {
  it.each(overRpc)('the error names both versions: %s', async (_, method, params, headers, versions) => {
    const { url } = await open()
    const error = await post(url, { jsonrpc: '2.0', id: 1, method, params }, headers)
    for (const version of versions) expect(error).toContain(version)
  })
})

const overRest: readonly Mix[] = [
  ['a 0.3 role in 1.0', '/message:send', { message: { ...newest, role: 'user' } }, {}, ['1.0', '0.3']],
  ['a 0.3 message in 1.0', '/message:send', { message: kind }, {}, ['1.0', '0.3']],
  [
    'a 1.0 part in 0.3 ProtoJSON',
    '/v1/message:send',
    { message: { ...proto, content: [{ url: 'https://h' }] } },
    {},
    ['0.3', '1.0'],
  ],
  ['a 1.0 path in 0.3', '/message:send', { message: newest }, { 'a2a-version': '0.3' }, ['0.3', '1.0']],
  ['a 0.3 message in 1.0 below /v1', '/v1/message:send', { message: kind }, { 'a2a-version': '1.0' }, ['1.0', '0.3']],
]

describe('a REST request that mixes two versions', () => {
  it.each(overRest)('the error names both versions: %s', async (_, path, body, headers, versions) => {
    const { url } = await open()
    const error = await post(`${url}${path}`, body, headers)
    for (const version of versions) expect(error).toContain(version)
  })
})

describe('a gRPC call that mixes two versions', () => {
  it.each([
    ['lf.a2a.v1.A2AService', { message: newest }, '0.3', '1.0'],
    ['a2a.v1.A2AService', { request: proto }, '1.0', '0.3'],
  ])('the error of %s names both versions', async (service, request, claimed, spoken) => {
    const { port } = await open()
    const error: ServiceError = await grpcClient(port)
      .unary(`${service}/SendMessage`, request, { metadata: { 'a2a-version': claimed } })
      .catch((error) => error)
    expect(error.code).not.toBe(status.OK)
    expect(error.details).toContain(claimed)
    expect(error.details).toContain(spoken)
  })
})
