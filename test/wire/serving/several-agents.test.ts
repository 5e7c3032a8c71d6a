import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Agent, agent } from '../../../src/core/agent/agent.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import type { Agents, ServeOptions } from '../../../src/serve/options.ts'
import { serve } from '../../../src/serve/serve.ts'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { silentLogger } from '../../support/logger.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { jsonRpc } from '../../support/wire/json-rpc.ts'
import { createWireClient } from '../../support/wire/wire-client.ts'

const lf = 'lf.a2a.v1.A2AService'
const says = (name: string) =>
  agent({ name }, async (turn) => {
    await turn.status('completed', `${name}: ${turn.text}`)
  })
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const kind = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }

async function open(agents: Agent | Agents, options: ServeOptions = {}) {
  const directory = await temporaryDirectory()
  const settings = { port: 0, signals: false, directory, logger: silentLogger, drainDeadline: 0, grpc: true }
  const server = await serve(agents, { ...settings, ...options })
  onTestFinished(() => server.close())
  return { server, directory, client: grpcClient(server.port) }
}

async function cardAt(url: string) {
  const response = await fetch(`${url}/.well-known/agent-card.json`)
  return response.ok ? await response.json() : response.status
}

const statusMessageOf = (answer: { readonly task?: { readonly status: { readonly message?: unknown } } }) =>
  JSON.stringify(answer.task?.status.message)

describe('several agents on one port', () => {
  it('agents are addressed by path over HTTP and gRPC, each with its own card and log', async () => {
    const { server, client, directory } = await open({ '/echo': says('Echo'), '/agents/ada': says('Ada') })
    const { url } = server
    expect(server.cardUrl).toBe(`${url}/echo/.well-known/agent-card.json`)
    expect(statusMessageOf(await createWireClient(`${url}/echo`).send('hi'))).toContain('Echo: hi')
    expect(statusMessageOf(await createWireClient(`${url}/agents/ada`).send('hi'))).toContain('Ada: hi')

    const card = await cardAt(`${url}/agents/ada`)
    const dial = card.supportedInterfaces.filter((each: { protocolBinding: string }) => each.protocolBinding === 'GRPC')
    const tenant = 'agents/ada'
    expect(dial).toEqual([{ url: url.slice(7), protocolBinding: 'GRPC', protocolVersion: '1.0', tenant }])
    expect(statusMessageOf(await client.unary(`${lf}/SendMessage`, { message, tenant }))).toContain('Ada: hi')
    expect(statusMessageOf(await client.unary(`${lf}/SendMessage`, { message, tenant: 'echo' }))).toContain('Echo: hi')
    const metadata = { 'a2a-tenant': 'echo' }
    const older = { request: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] } }
    expect(statusMessageOf(await client.unary('a2a.v1.A2AService/SendMessage', older, { metadata }))).not.toBe(
      'undefined',
    )

    const { tasks } = await client.unary(`${lf}/ListTasks`, { tenant: 'echo' })
    expect(JSON.stringify(tasks)).not.toContain('Ada')
    expect(tasks).toHaveLength(3)
    expect(existsSync(join(directory, 'echo@echo.db'))).toBe(true)
    expect(existsSync(join(directory, 'ada@agents%2Fada.db'))).toBe(true)
  })

  it('a gRPC call without a known tenant is rejected if no agent is at the root', async () => {
    const { client } = await open({ '/echo': says('Echo'), '/ada': says('Ada') })
    for (const tenant of [undefined, 'unknown']) {
      const error: ServiceError = await client.unary(`${lf}/SendMessage`, { message, tenant }).catch((error) => error)
      expect(error.code).toBe(status.INVALID_ARGUMENT)
      expect(error.details).toContain('tenant')
    }
    const { status: health } = await client.unary('grpc.health.v1.Health/Check', {})
    expect(health).toBe('SERVING')
  })

  it('agents are addressed by hostname', async () => {
    const { server, client } = await open(says('Root'))
    server.add(says('Ada'), { hostname: 'ada.test' })
    const ada = grpcClient(server.port, { 'grpc.default_authority': 'Ada.test' })
    expect(statusMessageOf(await ada.unary(`${lf}/SendMessage`, { message }))).toContain('Ada: hi')
    expect(statusMessageOf(await client.unary(`${lf}/SendMessage`, { message }))).toContain('Root: hi')
    const older = { request: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] } }
    const { task } = await ada.unary('a2a.v1.A2AService/SendMessage', older)
    expect(JSON.stringify(task.status)).toContain('Ada: hi')
  })

  it('agents are added and removed while the server runs', async () => {
    const { server, client } = await open(says('Root'))
    const { url } = server
    const ada = server.add(says('Ada'), { tenant: 'ada' })
    expect((await cardAt(`${url}/ada`)).name).toBe('Ada')
    expect((await cardAt(url)).name).toBe('Root')
    const send = (tenant?: string) => client.unary(`${lf}/SendMessage`, { message, tenant })
    expect(statusMessageOf(await send('ada'))).toContain('Ada: hi')
    expect(statusMessageOf(await send())).toContain('Root: hi')
    await server.remove(ada)
    await expect(send('ada')).rejects.toThrow('tenant')
    expect(statusMessageOf(await send())).toContain('Root: hi')
    expect(await cardAt(`${url}/ada`)).toBe(404)
    server.add(says('Grace'), { tenant: 'ada' })
    expect(statusMessageOf(await send('ada'))).toContain('Grace: hi')
  })

  it('agents are addressed by tenant, also in versions without tenants', async () => {
    const { server } = await open(says('Root'))
    server.add(says('Acme'), { tenant: 'acme' })
    const { url } = server
    expect(statusMessageOf(await createWireClient(url).result('SendMessage', { message, tenant: 'acme' }))).toContain(
      'Acme: hi',
    )
    const { supportedInterfaces } = await cardAt(`${url}/acme`)
    const older = supportedInterfaces.filter((each: { protocolVersion: string }) => each.protocolVersion === '0.3')
    expect(older).toEqual([
      { url: `${url}/acme/`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: `${url}/acme`, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    ])
    const { result } = await jsonRpc(`${url}/acme/`).call('message/send', { message: kind })
    expect(JSON.stringify(result.status.message)).toContain('Acme: hi')
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ message: kind })
    const rest = await fetch(`${url}/acme/v1/message:send`, { method: 'POST', headers, body })
    expect(await rest.text()).toContain('Acme: hi')
  })

  it('agents have their own limits and dialects', async () => {
    const { server, client } = await open(says('Root'), { http: { bodyLimit: 2_000 } })
    server.add(says('Small'), { tenant: 'small', dialects: ['v1.0'], http: { bodyLimit: 400 } })
    const long = { ...message, parts: [{ text: 'x'.repeat(1_000) }] }
    const wire = createWireClient(server.url)
    expect((await wire.call('SendMessage', { message: long, tenant: 'small' })).status).toBe(413)
    expect((await wire.call('SendMessage', { message: long })).status).toBe(200)
    await expect(client.unary(`${lf}/SendMessage`, { message: long, tenant: 'small' })).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
    })
    expect(statusMessageOf(await client.unary(`${lf}/SendMessage`, { message: long }))).toContain('Root: x')
    const { error } = await jsonRpc(`${server.url}/small/`).call('message/send', { message: kind })
    expect(error?.code).toBe(-32601)
  })

  it('an agent at an invalid or used address is an error', async () => {
    const { server } = await open(says('Root'))
    for (const tenant of ['tasks', 'v1', 'a/b', '']) {
      expect(() => server.add(says('Ada'), { tenant, log: createMemoryLog() })).toThrow('tenant: expected')
    }
    expect(() => server.add(says('Ada'), { log: createMemoryLog() })).toThrow('remove it first')
    await expect(serve({})).rejects.toThrow('expected an agent')
    const log = createMemoryLog()
    await expect(serve({ '/a': says('A'), '/b': says('B') }, { log })).rejects.toThrow('need a log each')
  })
})
