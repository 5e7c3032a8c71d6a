import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Turn } from '../../src/core/agent/turn.ts'
import { connect } from '../../src/entries/client.node.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { collect, deferred, until } from '../support/async.ts'
import { createRecordingLogger } from '../support/logger.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { startGateway } from './support.ts'

const once = { retry: { tries: 1 } }

/** Serves a card, and lets the test answer calls. */
async function startOrigin(answer: (response: ServerResponse) => void, versions = ['1.0']) {
  let calls = 0
  const server = createServer((request, response) => {
    request.resume()
    if (request.method === 'GET') {
      const supportedInterfaces = versions.map((protocolVersion) => ({
        ...{ url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion },
      }))
      const card = { name: 'Origin', description: 'x', version: '1', capabilities: { streaming: true }, skills: [] }
      const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] }
      response.setHeader('content-type', 'application/json')
      return void response.end(JSON.stringify({ ...card, ...modes, supportedInterfaces }))
    }
    calls++
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url, calls: () => calls }
}

describe.each<Mode>(['durable', 'pass-through'])('a %s agent with two addresses', (mode) => {
  it('gets new work at both, and follow-ups where their task is', async () => {
    const servers = await Promise.all([0, 1].map(() => startTestServer(count, { profile })))
    const [one, two] = servers.map(({ server }) => server)
    const directory = await temporaryDirectory()
    const agents = { ada: { url: one?.url ?? '', urls: [two?.url ?? ''], mode } }
    const first = await startGateway({ agents, directory })
    const client = await connect(first.url)
    const ids: string[] = []
    for (let n = 0; n < 4; n++) ids.push((await client.send('ask')).task?.id ?? '')
    const counts = await Promise.all(
      servers.map(async ({ server }) => (await collect((await connect(server.url)).listTasks())).length),
    )
    expect(counts).toEqual([2, 2])
    expect(first.agents()[0]?.addresses).toMatchObject([{ state: 'up' }, { state: 'up' }])
    await first.close()
    // Another process of the gateway finds the tasks too.
    const second = await startGateway({ agents, directory })
    const again = await connect(second.url)
    for (const taskId of ids) {
      expect((await again.send('count', { taskId })).task).toMatchObject({ id: taskId, status: { state: 'completed' } })
    }
  })

  it('works on with one of them', async () => {
    const [one, two] = await Promise.all([0, 1].map(() => startTestServer(count, { profile })))
    const agents = { ada: { url: one?.server.url ?? '', urls: [two?.server.url ?? ''], mode } }
    const gateway = await startGateway({ agents })
    const client = await connect(gateway.url, once)
    await one?.server.close()
    for (let n = 0; n < 4; n++) expect((await client.send('count')).task?.status.state).toBe('completed')
    await gateway.refresh()
    expect(gateway.agents()[0]?.addresses).toMatchObject([{ state: 'down' }, { state: 'up' }])
  })
})

describe('an agent that', () => {
  it('fails again and again gets no calls for a while, and its neighbour does', async () => {
    const broken = await startOrigin((response) => response.writeHead(500).end('{}'))
    const { server } = await startTestServer(count, { profile })
    const { lines, logger } = createRecordingLogger()
    const mode = 'pass-through'
    const gateway = await startGateway({ agents: { broken: { url: broken.url, mode }, ada: server.url }, logger })
    const client = await connect(`${gateway.url}/broken`, once)
    for (let n = 0; n < 5; n++) {
      const error = await client.send('x').catch((each) => each)
      expect(error).toMatchObject({ code: 'invalid-agent-response' })
      expect(JSON.stringify([error.message, error.metadata])).not.toContain(broken.url)
    }
    const { calls } = broken
    const before = calls()
    await expect(client.send('x')).rejects.toMatchObject({ code: 'unavailable', retryAfter: 5 })
    expect(calls()).toBe(before)
    expect(gateway.agents()[0]?.addresses).toMatchObject([{ state: 'paused', open: 0 }])
    expect(lines.map(({ message }) => message)).toContain('an address of an agent gets no calls for a while')
    const neighbour = await connect(`${gateway.url}/ada`)
    expect((await neighbour.send('hello')).text).toBe('hi')
  })

  it('hangs is called no more than its limit allows, and its neighbour answers', async () => {
    const hanging = await startOrigin(() => {})
    const { server } = await startTestServer(count, { profile })
    const slow = { url: hanging.url, mode: 'pass-through', concurrency: 2, timeout: 60_000 } as const
    const gateway = await startGateway({ agents: { slow, ada: server.url } })
    const client = await connect(`${gateway.url}/slow`, once)
    const leave = new AbortController()
    const waiting = [0, 1].map(() => client.send('x', { signal: leave.signal }).catch((error) => error.code))
    await until(() => gateway.agents()[0]?.addresses[0]?.open === 2)
    await expect(client.send('x')).rejects.toMatchObject({ code: 'unavailable', retryAfter: 1 })
    const neighbour = await connect(`${gateway.url}/ada`)
    expect((await neighbour.send('hello')).text).toBe('hi')
    leave.abort()
    await Promise.all(waiting)
    await until(() => gateway.agents()[0]?.addresses[0]?.open === 0)
  })

  it('does not answer when its card is fetched delays no neighbour', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      silent.closeAllConnections()
      silent.close()
    })
    const { server } = await startTestServer(count, { profile })
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    // Starts although the silent agent would take half a minute.
    const gateway = await startGateway({ agents: { silent: url, ada: server.url } })
    const neighbour = await connect(`${gateway.url}/ada`)
    expect((await neighbour.send('hello')).text).toBe('hi')
    expect(gateway.agents()).toMatchObject([{ name: 'silent', state: 'unreachable' }, { state: 'ready' }])
  })

  it('comes later is served when it is there', async () => {
    const first = await startTestServer(count, { profile })
    const { port, url } = first.server
    await first.server.close()
    const gateway = await startGateway({ agents: { ada: url }, cards: { refresh: 200 } })
    expect(gateway.agents()).toMatchObject([{ state: 'unreachable' }])
    await startTestServer(count, { profile, port })
    await until(() => gateway.agents()[0]?.state === 'ready', 20_000)
    expect((await (await connect(gateway.url)).send('hello')).text).toBe('hi')
  })

  it('lies about its version gets an understandable error for its callers', async () => {
    const { server } = await startTestServer(count, { profile, dialects: ['v0.3'] })
    const card = { name: 'Liar', description: 'x', version: '1', capabilities: {}, skills: [] }
    const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] }
    const supportedInterfaces = [{ url: server.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    const lying = { ...card, ...modes, supportedInterfaces }
    const gateway = await startGateway({ agents: { liar: { url: server.url, card: lying, mode: 'pass-through' } } })
    const client = await connect(gateway.url, once)
    const error = await client.send('hello').catch((each) => each)
    // A client that is sure of the version by a verified card does not guess another one.
    if (error instanceof Error) expect(error.message).toMatch(/version|method/i)
    else expect(error.text).toBe('hi')
  })

  it('floods its stream is slowed down by its reader', { timeout: 30_000 }, async () => {
    let written = 0
    const chunk = `${'x'.repeat(64_000)}`
    const event = (n: number) => {
      const artifact = { artifactId: 'a', parts: [{ text: chunk }] }
      const artifactUpdate = { taskId: 't', contextId: 'c', artifact, append: n > 0 }
      return `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { artifactUpdate } })}\n\n`
    }
    const flooding = await startOrigin((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const write = () => {
        while (written < 4_000 && response.write(event(written++)));
        if (written < 4_000) response.once('drain', write)
      }
      write()
    })
    const gateway = await startGateway({ agents: { flood: { url: flooding.url, mode: 'pass-through' } } })
    const client = await connect(gateway.url, once)
    const stream = client.stream('go')
    for (let n = 0; n < 3; n++) await stream.next()
    // The reader pauses: 256 MB are waiting, and the agent cannot get rid of them.
    let before = -1
    await until(async () => {
      const isSettled = before === written
      before = written
      await new Promise((resolve) => setTimeout(resolve, 200))
      return isSettled
    })
    expect(written).toBeLessThan(1_000)
    await stream.return(undefined)
  })
})

describe('a time limit of a rule', () => {
  it('ends a stream in which nothing happens', async () => {
    const finish = deferred()
    onTestFinished(() => finish.resolve())
    const { server } = await startTestServer(async (turn: Turn) => {
      await turn.status('working')
      await finish.promise
    })
    const rules = [{ duration: 300 }]
    const gateway = await startGateway({ agents: { slow: { url: server.url, mode: 'pass-through' } }, rules })
    const client = await connect(gateway.url, { ...once, resume: { tries: 1 } })
    await expect(collect(client.stream('go'))).rejects.toThrow(/at most 300 ms/)
  })
})
