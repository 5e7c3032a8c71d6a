import { expect, it } from 'vitest'
import { agent } from '../agent/agent.ts'
import { createHost } from './host.ts'

const agentNamed = (name: string) => agent({ name }, (turn) => `${name}: ${turn.text}`)
const auth = 'none'
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

function callerOf(fetch: (request: Request) => Promise<Response>) {
  return async (url: string, params: object = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, ...params } })
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', host: new URL(url).host }
    const answer = await fetch(new Request(url, { method: 'POST', headers, body }))
    const { result, error } = await answer.json()
    return result?.message?.parts[0].text ?? error
  }
}

it('a host routes requests by path, host name and tenant', async () => {
  const host = createHost()
  host.add(agentNamed('root'), { auth })
  host.add(agentNamed('echo'), { auth, mount: '/agents/echo' })
  host.add(agentNamed('deep'), { auth, mount: '/agents/echo/deep' })
  host.add(agentNamed('named'), { auth, hostname: 'named.test' })
  host.add(agentNamed('acme'), { auth, tenant: 'acme' })
  const call = callerOf(host.fetch)
  expect(await call('http://h.test/')).toBe('root: hi')
  expect(await call('http://h.test/agents/echo')).toBe('echo: hi')
  expect(await call('http://h.test/agents/echo/')).toBe('echo: hi')
  expect(await call('http://h.test/agents/echo/deep')).toBe('deep: hi')
  expect(await call('http://named.test/')).toBe('named: hi')
  expect(await call('http://h.test/', { tenant: 'acme' })).toBe('acme: hi')
  expect(await call('http://h.test/', { tenant: 'unknown' })).toMatchObject({ code: -32602 })
  await host.drain(0)
})

it('the tenant of a REST call can be in its path', async () => {
  const host = createHost()
  host.add(agentNamed('root'), { auth })
  host.add(agentNamed('acme'), { auth, tenant: 'acme' })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }) }
  const answer = await host.fetch(new Request('http://h.test/acme/message:send', init))
  expect(await answer.json()).toMatchObject({ message: { parts: [{ text: 'acme: hi' }] } })
  await host.drain(0)
})

it('every agent has its own card with its own address', async () => {
  const host = createHost()
  host.add(agentNamed('root'), { auth })
  host.add(agentNamed('echo'), { auth, mount: '/agents/echo' })
  host.add(agentNamed('acme'), { auth, tenant: 'acme' })
  const card = async (path: string) =>
    await (await host.fetch(new Request(`http://h.test${path}/.well-known/agent-card.json`))).json()
  const first = { protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
  const root = await card('')
  expect(root).toMatchObject({ name: 'root' })
  expect(root.supportedInterfaces[0]).toEqual({ url: 'http://h.test/', ...first })
  const echo = await card('/agents/echo')
  expect(echo).toMatchObject({ name: 'echo' })
  expect(echo.supportedInterfaces[0]).toEqual({ url: 'http://h.test/agents/echo/', ...first })
  const acme = await card('/acme')
  expect(acme).toMatchObject({ name: 'acme' })
  expect(acme.supportedInterfaces[0]).toEqual({ url: 'http://h.test/', tenant: 'acme', ...first })
  await host.drain(0)
})

it('agents can be added and removed while the host runs', async () => {
  const host = createHost()
  const call = callerOf(host.fetch)
  const first = host.add(agentNamed('first'), { auth })
  expect(() => host.add(agentNamed('second'), { auth })).toThrow('remove it first')
  expect(await call('http://h.test/')).toBe('first: hi')
  await host.remove(first, 0)
  expect((await host.fetch(new Request('http://h.test/'))).status).toBe(404)
  host.add(agentNamed('second'), { auth })
  expect(await call('http://h.test/')).toBe('second: hi')
  await host.drain(0)
})

it('a host without an agent at its root has the health checks of all its agents there', async () => {
  const host = createHost()
  const echo = host.add(agentNamed('echo'), { auth, mount: '/echo' })
  host.add(agentNamed('ada'), { auth, mount: '/ada' })
  const check = async (path: string) => {
    const response = await host.fetch(new Request(`http://h.test${path}`))
    return [response.status, response.headers.get('retry-after'), await response.json()]
  }
  for (const path of ['/livez', '/readyz', '/healthz', '/echo/readyz']) {
    expect(await check(path)).toEqual([200, null, { status: 'ok' }])
  }
  await echo.drain(0)
  for (const path of ['/readyz', '/healthz', '/echo/readyz']) {
    expect(await check(path)).toEqual([503, '1', { status: 'draining' }])
  }
  for (const path of ['/livez', '/ada/readyz', '/echo/livez']) {
    expect(await check(path)).toEqual([200, null, { status: 'ok' }])
  }
  const posted = await host.fetch(new Request('http://h.test/livez', { method: 'POST' }))
  expect(posted.status).toBe(404)
  await host.drain(0)
})
