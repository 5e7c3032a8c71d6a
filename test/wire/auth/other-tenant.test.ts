import { status } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { AuthSettings } from '../../../src/core/server/authentication.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { custom } from '../../../src/entries/auth.ts'
import { serve } from '../../../src/serve/serve.ts'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { silentLogger } from '../../support/logger.ts'

/** Reads `ada@acme` as the principal `ada` of the tenant `acme`, and `ada` as a principal without a tenant. */
const name = custom({
  card: { type: 'api-key', location: 'header', name: 'x-name' },
  authenticate({ header }) {
    const [id = 'anonymous', tenant] = (header('x-name') ?? '').split('@')
    return { id, ...(tenant && { tenant }) }
  },
})

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

/** Two tenants on one server, and a task of `ada@acme`. */
async function open(auth: Partial<AuthSettings> = {}) {
  const works = (called: string) =>
    agent({ name: called }, async (turn) => {
      await turn.status('completed', 'done')
    })
  const shared = {
    auth: { schemes: { name }, ...auth },
    logger: silentLogger,
    grpc: true,
  }
  const options = { ...shared, extendedCard: {}, push: {}, signals: false, drainDeadline: 0 }
  const server = await serve(works('Acme'), { ...options, port: 0, tenant: 'acme', log: createMemoryLog() })
  onTestFinished(() => server.close())
  server.add(works('Globex'), { ...shared, tenant: 'globex', log: createMemoryLog() })
  const { url } = server
  const headersFor = (who: string, version = '1.0') => ({
    ...{ 'content-type': 'application/json', 'a2a-version': version, 'x-name': who },
  })
  const rpc = async (who: string, method: string, params: object = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { tenant: 'acme', ...params } })
    const response = await fetch(url, { method: 'POST', headers: headersFor(who), body })
    return { status: response.status, body: await response.text() }
  }
  const rest = async (who: string, method: string, path: string, body?: object, version = '1.0') => {
    const init = { method, headers: headersFor(who, version), ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(`${url}${path}`, init)
    return { status: response.status, body: await response.text() }
  }
  const { body } = await rpc('ada@acme', 'SendMessage', { message })
  const { id } = JSON.parse(body).result.task
  return { server, rpc, rest, id: id as string, client: grpcClient(server.port) }
}

const config = { url: 'https://hook.example.com/' }
const operations = (id: string): readonly (readonly [string, object])[] => [
  ['SendMessage', { message }],
  ['SendStreamingMessage', { message }],
  ['GetTask', { id }],
  ['ListTasks', {}],
  ['CancelTask', { id }],
  ['SubscribeToTask', { id }],
  ['CreateTaskPushNotificationConfig', { taskId: id, ...config }],
  ['GetTaskPushNotificationConfig', { taskId: id, id: 'c' }],
  ['ListTaskPushNotificationConfigs', { taskId: id }],
  ['DeleteTaskPushNotificationConfig', { taskId: id, id: 'c' }],
  ['GetExtendedAgentCard', {}],
]

describe('a caller of another tenant', () => {
  it('every operation is denied over JSON-RPC and gRPC', async () => {
    const { rpc, client, id } = await open()
    for (const [method, params] of operations(id)) {
      const { status: code, body } = await rpc('ada@globex', method, params)
      expect([method, code]).toEqual([method, 403])
      expect(body).toContain('These credentials are for another tenant.')
      if (method.includes('Stream') || method.startsWith('Subscribe')) continue
      const asking = { metadata: { 'x-name': 'ada@globex' } }
      const sent = { tenant: 'acme', ...params }
      const error = await client.unary(`lf.a2a.v1.A2AService/${method}`, sent, asking).catch((thrown) => thrown)
      expect([method, error.code]).toEqual([method, status.PERMISSION_DENIED])
    }
  })

  it('every operation is denied over REST and in versions that name the tenant in the path', async () => {
    const { rest, id } = await open()
    expect((await rest('ada@globex', 'GET', `/acme/tasks/${id}`)).status).toBe(403)
    expect((await rest('ada@globex', 'GET', `/tasks/${id}?tenant=acme`)).status).toBe(403)
    expect((await rest('ada@globex', 'GET', `/acme/v1/tasks/${id}`, undefined, '0.3')).status).toBe(403)
    expect((await rest('ada@globex', 'GET', '/acme/agent/authenticatedExtendedCard')).status).toBe(403)
    const older = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id } }
    expect((await rest('ada@globex', 'POST', '/acme', older, '0.3')).status).toBe(403)
  })

  it('callers of the same tenant and callers without a tenant are admitted', async () => {
    const { rpc, rest, id } = await open()
    expect((await rpc('ada@acme', 'GetTask', { id })).status).toBe(200)
    expect((await rest('ada@acme', 'GET', `/acme/tasks/${id}`)).status).toBe(200)
    const { status: code, body } = await rpc('ada', 'ListTasks')
    expect([code, JSON.parse(body).result.totalSize]).toEqual([200, 0])
  })

  it('a policy can allow operations across tenants', async () => {
    const { rpc, id } = await open({
      policy: ({ id: who }, operation) => {
        if (who === 'root') return 'everyone'
        if (who === 'audit' && operation === 'getTask') return { tenants: ['acme'] }
        return undefined
      },
    })
    expect((await rpc('root@globex', 'GetTask', { id })).body).toContain(id)
    expect((await rpc('audit@globex', 'GetTask', { id })).body).toContain(id)
    expect((await rpc('audit@globex', 'CancelTask', { id })).status).toBe(403)
    expect((await rpc('ada@globex', 'GetTask', { id })).status).toBe(403)
  })
})
