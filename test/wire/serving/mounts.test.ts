import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { toListener } from '../../../src/core/node/listener.ts'
import { createHandler, type Handler } from '../../../src/core/server/handler.ts'
import type { HandlerOptions } from '../../../src/core/server/options.ts'
import { apiKey, hashApiKey } from '../../../src/entries/auth.ts'
import { collect, deferred, until } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { createWireClient, type WireClient } from '../../support/wire/wire-client.ts'

/** The agent replies "hello", or counts to three in a task and waits for `go` after the first number. */
function counting(options: Partial<HandlerOptions> = {}) {
  const go = deferred()
  const run = async (turn: Turn) => {
    if (turn.text === 'hello') return 'hello'
    const numbers = turn.artifact('numbers')
    await numbers.write('one')
    await go.promise
    await numbers.write('two')
    await numbers.close('three')
    return undefined
  }
  const handler = createHandler(agent({ name: 'Counting' }, run), { auth: 'none', logger: silentLogger, ...options })
  onTestFinished(() => handler.drain(0))
  return { handler, go }
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Replies, streams and subscriptions work, wherever the handler is mounted. */
async function expectAnswers(wire: WireClient, go: PromiseWithResolvers<void>): Promise<void> {
  expect((await wire.send('hello')).message?.parts).toEqual([{ text: 'hello' }])

  const events = wire.sendStream('count')
  const first = await events.next()
  await events.next()
  const third = await events.next()
  expect(first.value?.result?.task?.status.state).toBe('TASK_STATE_SUBMITTED')
  expect(third.value?.result?.artifactUpdate?.artifact.parts).toEqual([{ text: 'one' }])
  // These events arrived while the agent was still working, so nothing buffers the stream.
  go.resolve()
  const rest = await collect(events)
  expect(rest.map(({ generation }) => generation)).toEqual([5, 6, 7])
  expect(rest.at(-1)?.result?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')

  const id = first.value?.result?.task?.id ?? ''
  expect(await collect(wire.subscribe(id, { after: 5 }))).toHaveLength(2)
}

async function expectCardLeadsTo(base: string): Promise<void> {
  expect(await interfaceOf(await fetch(`${base}/.well-known/agent-card.json`))).toBe(`${base}/`)
}

/** The URL of the preferred interface in a card. */
async function interfaceOf(card: Response): Promise<string | undefined> {
  const { supportedInterfaces } = (await card.json()) as { supportedInterfaces: { url: string }[] }
  return supportedInterfaces[0]?.url
}

describe('a handler', () => {
  it('a handler answers requests without a socket', async () => {
    const { handler, go } = counting()
    const wire = createWireClient('http://in.process/', (url, init) => handler.fetch(new Request(url, init)))
    await expectAnswers(wire, go)
    const card = await handler.fetch(new Request('http://in.process/.well-known/agent-card.json'))
    expect(await interfaceOf(card)).toBe('http://in.process/')
  })

  it('a task continues after its stream is closed by the reader', async () => {
    const { handler, go } = counting()
    const wire = createWireClient('http://in.process/', (url, init) => handler.fetch(new Request(url, init)))
    let id = ''
    for await (const { result } of wire.sendStream('count')) {
      id = result?.task?.id ?? id
      if (result?.artifactUpdate) break
    }
    go.resolve()
    await until(async () => (await wire.getTask(id)).status.state === 'TASK_STATE_COMPLETED')
    expect((await wire.getTask(id)).artifacts?.[0]?.parts).toEqual([{ text: 'onetwothree' }])
  })
})

describe('a mounted handler with auth', () => {
  const mounts: Readonly<Record<string, (handler: Handler) => Promise<string>>> = {
    Express: (handler) => listening(express().use('/agent', toListener(handler.exchange))),
    Hono: (handler) => listening(getRequestListener(new Hono().mount('/agent', handler.fetch).fetch)),
    'node:http': (handler) => {
      const listener = toListener(handler.exchange)
      return listening((request, response) => {
        request.url = request.url?.replace('/agent', '') || '/'
        listener(request, response)
      })
    },
  }

  it.each(Object.keys(mounts))('a handler mounted in %s requires the declared credentials', async (name) => {
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('k') }] })
    const { handler } = counting({ auth: { schemes: { key } } })
    const base = await mounts[name]?.(handler)
    const wire = createWireClient(`${base}/agent`)
    const body = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }
    const refused = await wire.post(body)
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toMatch(/^ApiKey realm="Counting"/)
    expect((await fetch(`${base}/agent/tasks`)).status).toBe(401)
    expect((await wire.post(body, { 'x-api-key': 'k' })).status).toBe(200)
  })
})

describe('Express', () => {
  it('a handler is mounted at the root', async () => {
    const { handler, go } = counting()
    const app = express()
    app.use(toListener(handler.exchange))
    const base = await listening(app)
    await expectAnswers(createWireClient(base), go)
    await expectCardLeadsTo(base)
  })

  it('a handler is mounted below a path', async () => {
    const { handler, go } = counting()
    const app = express()
    app.use('/agents/echo', toListener(handler.exchange))
    app.get('/', (_request, response) => void response.send('the rest of the app'))
    const base = await listening(app)
    await expectAnswers(createWireClient(`${base}/agents/echo`), go)
    await expectCardLeadsTo(`${base}/agents/echo`)
    expect(await (await fetch(base)).text()).toBe('the rest of the app')
    expect(await (await fetch(`${base}/agents/echo/nowhere`)).json()).toMatchObject({
      error: { code: 404, message: expect.stringContaining('JSON-RPC is at /agents/echo/') },
    })
  })

  it('a handler works behind a body parser and keeps its body limit', async () => {
    const { handler, go } = counting({ http: { bodyLimit: 1000 } })
    const app = express()
    app.use(express.json())
    app.use('/agents/echo', toListener(handler.exchange))
    const base = await listening(app)
    const wire = createWireClient(`${base}/agents/echo`)
    await expectAnswers(wire, go)
    expect((await wire.call('SendMesage')).error?.code).toBe(-32601)
    expect((await wire.call('GetTask', { id: 'x'.repeat(1000) })).status).toBe(413)
  })
})

describe('Hono', () => {
  it('a handler is mounted at the root', async () => {
    const { handler, go } = counting()
    const app = new Hono()
    app.mount('/', handler.fetch)
    const base = await listening(getRequestListener(app.fetch))
    await expectAnswers(createWireClient(base), go)
    await expectCardLeadsTo(base)
  })

  it('a handler is mounted as a route', async () => {
    const { handler, go } = counting()
    const app = new Hono()
    app.all('*', (context) => handler.fetch(context.req.raw))
    const base = await listening(getRequestListener(app.fetch))
    await expectAnswers(createWireClient(base), go)
    await expectCardLeadsTo(base)
  })

  it('a handler below a path puts its publicUrl into the card', async () => {
    const { handler, go } = counting({ publicUrl: 'https://agents.example.com/echo' })
    const app = new Hono()
    app.mount('/echo', handler.fetch)
    const base = await listening(getRequestListener(app.fetch))
    await expectAnswers(createWireClient(`${base}/echo`), go)
    const card = await fetch(`${base}/echo/.well-known/agent-card.json`)
    expect(await interfaceOf(card)).toBe('https://agents.example.com/echo/')
  })
})
