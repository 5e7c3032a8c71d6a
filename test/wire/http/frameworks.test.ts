import { request as httpRequest } from 'node:http'
import { inspect } from 'node:util'
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'
import { getRequestListener } from '@hono/node-server'
import * as legacySdk from 'a2a-sdk-0-3-last/client'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import { toListener } from '../../../src/core/node/listener.ts'
import { createHandler, type Handler } from '../../../src/core/server/handler.ts'
import { createHost } from '../../../src/core/server/host.ts'
import type { MountOptions } from '../../../src/core/server/mount.ts'
import type { HandlerOptions } from '../../../src/core/server/options.ts'
import { fastifyPlugin } from '../../../src/entries/fastify.ts'
import { honoHandler } from '../../../src/entries/hono.ts'
import { koaMiddleware } from '../../../src/entries/koa.ts'
import { count, profile } from '../../support/agents/interop-agent.ts'
import { collect, until } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { sdkFactoryClient } from '../../support/sdk/factory-client.ts'
import { legacyFactoryClient } from '../../support/sdk/legacy-factory-client.ts'
import type { SdkClient } from '../../support/sdk/sdk-client.ts'
import { applications, ownPage } from '../../support/servers/frameworks.ts'
import { startHttpServer } from '../../support/servers/http-server.ts'

function counter(options: Partial<HandlerOptions & MountOptions> = {}): Handler {
  const handler = createHandler(agent(profile, count), { auth: 'none', logger: silentLogger, ...options })
  onTestFinished(() => handler.drain(0))
  return handler
}

/** The real clients of the official SDK, which find the agent by its card. */
const sdkClients: Readonly<Record<string, (base: string) => Promise<SdkClient>>> = {
  '1.3.0 over JSON-RPC': (base) =>
    sdkFactoryClient(new ClientFactory({ transports: [new JsonRpcTransportFactory()] }), `${base}/`),
  '1.3.0 over REST': (base) =>
    sdkFactoryClient(new ClientFactory({ transports: [new RestTransportFactory()] }), `${base}/`),
  '0.3.14 over JSON-RPC': (base) =>
    legacyFactoryClient(
      new legacySdk.ClientFactory({ transports: [new legacySdk.JsonRpcTransportFactory()] }),
      `${base}/`,
    ),
  '0.3.14 over REST': (base) =>
    legacyFactoryClient(
      new legacySdk.ClientFactory({ transports: [new legacySdk.RestTransportFactory()] }),
      `${base}/`,
    ),
}

async function expectAnswers(client: SdkClient): Promise<void> {
  expect(await client.send('hello')).toEqual({ message: 'hi' })
  const events = await collect(client.stream('count'))
  expect(events.map(({ words }) => words).join('\n')).toMatch(/one.*two.*three.*completed/s)
  const { taskId = '' } = events[0] ?? {}
  expect((await client.get(taskId)).state).toBe('completed')
}

/** Every address on the card. */
async function addressesOn(cardUrl: string): Promise<readonly string[]> {
  const card = await (await fetch(cardUrl)).text()
  return Array.from(card.matchAll(/"url":"([^"]*)"/g), ([, url = '']) => url)
}

const places = [
  ['at the root', { mount: '', parsesBodies: false }],
  ['at the root, after a body parser', { mount: '', parsesBodies: true }],
  ['below a path', { mount: '/agents/echo', parsesBodies: false }],
  ['below a path, after a body parser', { mount: '/agents/echo', parsesBodies: true }],
] as const

/** The JSON-RPC answer to a message. */
async function post(url: string, body: string = helloCall): Promise<unknown> {
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  return await (await fetch(url, { method: 'POST', headers, body })).json()
}

const helloCall = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
})

const hi = { result: { message: { parts: [{ text: 'hi' }] } } }

const cardPath = '/.well-known/agent-card.json'

describe.each(Object.entries(applications))('%s', (name, start) => {
  /** Next.js redirects requests with a slash at the end of their path. */
  const path = name === 'Next.js' ? '' : '/'

  it.each(places)('an agent %s is called by the official SDK at the addresses on its card', async (_, place) => {
    const origin = await start(counter({ path }), place)
    const base = `${origin}${place.mount}`
    const addresses = await addressesOn(`${base}${cardPath}`)
    expect(new Set(addresses)).toEqual(new Set([`${base}${path}`, base]))
    for (const connect of Object.values(sdkClients)) await expectAnswers(await connect(base))
    expect(await (await fetch(`${origin}${ownPage.path}`)).text()).toBe(ownPage.text)
    expect((await fetch(`${base}/nowhere`)).status).toBe(404)
  })

  it('a stream ends in the agent when its caller leaves', async () => {
    const dialects = { compatibility: { cancelOnDisconnect: true } }
    const origin = await start(counter({ dialects }), { mount: '/agents/echo', parsesBodies: false })
    const leaving = new AbortController()
    const response = await fetch(`${origin}/agents/echo/v1/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '0.3' },
      body: JSON.stringify({
        message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'wait' }] },
      }),
      signal: leaving.signal,
    })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (text.includes('Counting')) break
    }
    const id = /"(?:id|taskId)":"([^"]+)"/.exec(text)?.[1]
    leaving.abort()
    const client = await sdkClients['0.3.14 over JSON-RPC']?.(`${origin}/agents/echo`)
    await until(async () => (await client?.get(`${id}`))?.state === 'canceled')
  })
})

describe('the mount of a handler', () => {
  const mount = '/agents/echo'
  const call = (base: string) => (path: string, init?: RequestInit) => new Request(`${base}${path}`, init)

  it.each([
    ['has kept the path', 'http://a.test/agents/echo'],
    ['has removed the path', 'http://a.test'],
  ])('a handler is reached at its mount if the framework %s', async (_, base) => {
    const handler = counter({ mount: `${mount}/` })
    const request = call(base)
    const card = await (await handler.fetch(request(cardPath))).text()
    expect(card).toContain('"url":"http://a.test/agents/echo/"')
    const body = {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: helloCall,
    }
    expect(await (await handler.fetch(request('', body))).json()).toMatchObject(hi)
    const missing = await handler.fetch(request('/tasks/none', { headers: { 'a2a-version': '1.0' } }))
    expect(await missing.text()).toContain('TASK_NOT_FOUND')
  })

  it('a mount that is no path is refused', () => {
    expect(() => counter({ mount: 'agents' })).toThrow(/mount: expected/)
  })

  it("a handler in Hono's mount has the addresses of its own mount on the card", async () => {
    const app = new Hono().mount(mount, counter({ mount }).fetch)
    const origin = await startHttpServer(getRequestListener(app.fetch))
    expect(await addressesOn(`${origin}${mount}${cardPath}`)).toContain(`${origin}${mount}/`)
    expect(await post(`${origin}${mount}/`)).toMatchObject(hi)
  })

  it('a handler that is mounted twice at the same path has this path once on its card', async () => {
    const origin = await startHttpServer(express().use(mount, toListener(counter({ mount }).exchange)))
    expect(new Set(await addressesOn(`${origin}${mount}${cardPath}`))).toEqual(
      new Set([`${origin}${mount}/`, `${origin}${mount}`]),
    )
    expect(await post(`${origin}${mount}`)).toMatchObject(hi)
  })

  it('a host is reached if an application mounts it at the path of its agent', async () => {
    const host = createHost()
    const hosted = host.add(agent(profile, count), { mount, auth: 'none', logger: silentLogger })
    onTestFinished(() => hosted.drain(0))
    const origin = await startHttpServer(express().use(mount, toListener(host.exchange)))
    expect(await addressesOn(`${origin}${mount}${cardPath}`)).toContain(`${origin}${mount}/`)
    expect(await post(`${origin}${mount}`)).toMatchObject(hi)
  })

  it('a handler at two paths has a card for each', async () => {
    const listener = toListener(counter().exchange)
    const origin = await startHttpServer(express().use('/one', listener).use('/two', listener))
    for (const path of ['/one', '/two']) {
      expect(await addressesOn(`${origin}${path}${cardPath}`)).toContain(`${origin}${path}/`)
    }
  })

  it('Fastify refuses a second agent at the same prefix', async () => {
    const app = fastify()
    onTestFinished(() => app.close())
    await app.register(fastifyPlugin(counter()), { prefix: mount })
    await expect(app.register(fastifyPlugin(counter()), { prefix: mount })).rejects.toThrow(/already declared/)
  })

  it('an agent below a path has its card at the root too, if the application routes it there', async () => {
    const listener = toListener(counter({ mount }).exchange)
    const origin = await startHttpServer(express().get(cardPath, listener).use(mount, listener))
    expect(await addressesOn(`${origin}${cardPath}`)).toContain(`${origin}${mount}/`)
    const client = await sdkClients['1.3.0 over JSON-RPC']?.(origin)
    expect(await client?.send('hello')).toEqual({ message: 'hi' })
  })

  it.each([
    ['Hono', (handler: Handler) => startHono('/tenants/:id/agent/*', handler)],
    ['Hono with a pattern', (handler: Handler) => startHono('/tenants/:id/agent/:path{.+}', handler)],
    ['Fastify', (handler: Handler) => startFastify('/tenants/:id/agent', handler)],
  ])('an agent below a path with a parameter has its value on the card in %s', async (_, start) => {
    const origin = await start(counter())
    const base = `${origin}/tenants/7/agent`
    expect(await addressesOn(`${base}${cardPath}`)).toContain(`${base}/`)
  })

  function startHono(route: string, handler: Handler): Promise<string> {
    return startHttpServer(getRequestListener(new Hono().all(route, honoHandler(handler)).fetch))
  }

  async function startFastify(prefix: string, handler: Handler): Promise<string> {
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    await app.register(fastifyPlugin(handler), { prefix })
    return await app.listen({ port: 0, host: '127.0.0.1' })
  }
})

describe('a proxy that removes the prefix', () => {
  /** Passes requests on without `/shop`. */
  async function startProxy(target: string, headers: Readonly<Record<string, string>>): Promise<string> {
    return await startHttpServer((request, response) => {
      const url = `${target}${request.url?.replace(/^\/shop/, '')}`
      const passed = httpRequest(url, { method: request.method, headers: { ...request.headers, ...headers } })
      passed.on('response', (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers)))
      request.pipe(passed)
    })
  }

  const prefix = { 'x-forwarded-prefix': '/shop' }
  const cases = Object.entries(applications).flatMap(([name, start]) => [
    { name, start, by: 'X-Forwarded-Prefix', options: { trustProxy: true }, headers: prefix },
    { name, start, by: 'mount', options: { mount: '/shop/agents/echo' }, headers: {} },
  ])

  it.each(cases)(
    'the card has the address at the proxy in $name, by $by',
    async ({ name, start, options, headers }) => {
      const path = name === 'Next.js' ? '' : '/'
      const place = { mount: '/agents/echo', parsesBodies: false }
      const proxy = await startProxy(await start(counter({ path, ...options }), place), headers)
      const base = `${proxy}/shop/agents/echo`
      expect(new Set(await addressesOn(`${base}${cardPath}`))).toEqual(new Set([`${base}${path}`, base]))
      const client = await sdkClients['1.3.0 over JSON-RPC']?.(base)
      expect(await client?.send('hello')).toEqual({ message: 'hi' })
    },
  )

  it('a header of a proxy that is not trusted does not change the card', async () => {
    const origin = await applications.Koa?.(counter(), { mount: '', parsesBodies: false })
    const card = await (await fetch(`${origin}${cardPath}`, { headers: prefix })).text()
    expect(card).not.toContain('shop')
  })
})

describe('a consumed body', () => {
  /** The errors that the operator's log has got. */
  function reporting() {
    const logged: unknown[] = []
    const handler = counter({ logger: { ...silentLogger, error: (details: object) => logged.push(details) } })
    return { handler, logged }
  }

  async function drainBody(request: AsyncIterable<unknown>): Promise<void> {
    for await (const _ of request);
  }

  const wasteful: Readonly<Record<string, (handler: Handler) => Promise<string>>> = {
    Express: (handler) => {
      const app = express().use((request, _response, next) => void drainBody(request).then(() => next(), next))
      return startHttpServer(app.use(toListener(handler.exchange)))
    },
    Koa: (handler) => {
      const app = new Koa().use(async ({ req }, next) => {
        await drainBody(req)
        await next()
      })
      return startHttpServer(app.use(koaMiddleware(handler)).callback())
    },
    Hono: (handler) => {
      const app = new Hono().use(async ({ req }, next) => {
        await req.raw.text()
        await next()
      })
      return startHttpServer(getRequestListener(app.all('*', honoHandler(handler)).fetch))
    },
    'a fetch handler': (handler) => {
      const fetch = async (request: Request) => {
        await request.text()
        return await handler.fetch(request)
      }
      return startHttpServer(getRequestListener(fetch))
    },
  }

  it.each(Object.keys(wasteful))('a body that nothing is left of is an error with a remedy in %s', async (name) => {
    const { handler, logged } = reporting()
    const origin = await wasteful[name]?.(handler)
    expect(await post(`${origin}/`)).toMatchObject({
      error: { code: -32603, message: expect.stringContaining('has consumed the body') },
    })
    expect(JSON.stringify(logged.map((details) => inspect(details)))).toContain('Mount the agent before the')
  })

  it('the raw body is preferred to the parsed one', async () => {
    const app = express().use(
      express.json({ verify: (request, _, bytes) => Object.assign(request, { rawBody: bytes }) }),
    )
    const origin = await startHttpServer(app.use(toListener(counter().exchange)))
    const twice = helloCall.replace('"id":1', '"id":1,"id":2')
    expect(await post(`${origin}/`, twice)).toMatchObject({ error: { code: -32700 } })
  })

  it('a body that a parser has read and that is too deep is refused', async () => {
    const origin = await startHttpServer(
      express()
        .use(express.json({ strict: false }))
        .use(toListener(counter().exchange)),
    )
    const deep = `${'['.repeat(40_000)}${']'.repeat(40_000)}`
    expect(await post(`${origin}/`, deep)).toMatchObject({ error: { code: -32700 } })
  })
})

describe('an agent in an application', () => {
  it("headers of Fastify's hooks are on the responses of the agent", async () => {
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-frame', 'yes'))
    await app.register(fastifyPlugin(counter()))
    app.setNotFoundHandler(async () => 'not here')
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const card = await fetch(`${origin}${cardPath}`)
    expect([card.status, card.headers.get('x-frame')]).toEqual([200, 'yes'])
    expect(await (await fetch(`${origin}/nowhere`)).text()).toBe('not here')
  })

  it("Fastify's parsers and body limit are those of the other routes only", async () => {
    const app = fastify({ forceCloseConnections: true, bodyLimit: 10 })
    onTestFinished(() => app.close())
    await app.register(fastifyPlugin(counter()), { prefix: '/agents/echo' })
    app.post('/about', async ({ body }) => ({ body }))
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    expect(await post(`${origin}/agents/echo`)).toMatchObject(hi)
    expect(await post(`${origin}/about`, '{"a":1}')).toEqual({ body: { a: 1 } })
    expect(await post(`${origin}/about`)).toMatchObject({ statusCode: 413 })
  })

  it('middleware of Koa sees the status of the agent', async () => {
    const statuses: number[] = []
    const app = new Koa().use(async (context, next) => {
      await next()
      statuses.push(context.status)
    })
    const origin = await startHttpServer(app.use(koaMiddleware(counter())).callback())
    await (await fetch(`${origin}${cardPath}`)).text()
    await (await fetch(`${origin}/nowhere`)).text()
    expect(statuses).toEqual([200, 404])
  })
})
