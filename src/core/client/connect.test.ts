import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { countingAgent } from '../../../test/contracts/service/contract.ts'
import { collect } from '../../../test/support/async.ts'
import {
  agentRoute,
  cardPath,
  cardRoute,
  createLocalHandler,
  fakePeer,
  legacyCardPath,
} from '../../../test/support/servers/local-handler.ts'
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts'
import { agent } from '../node/local-agent.node.ts'
import { checkConnectOptions } from './check-options.ts'
import { connect, optionNames } from './connect.ts'
import { createCardCache } from './find-card.ts'
import type { Notice } from './options.ts'

const url = 'http://localhost/'
const jsonRpc = (protocolVersion: string, address = url) => ({
  name: 'Test',
  supportedInterfaces: [{ url: address, protocolBinding: 'JSONRPC', protocolVersion }],
})
const legacy = {
  name: 'Test',
  description: 'Tests',
  version: '1',
  url,
  capabilities: {},
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [{ id: 's', name: 'S', description: 'Skill', tags: ['s'] }],
}

/** A `fetch` that sends every request to a handler in this process. */
const through =
  ({ fetch }: { fetch(request: Request): Promise<Response> }) =>
  (address: string, init: RequestInit) =>
    fetch(new Request(address, init))

describe('the target of connect', () => {
  it('an agent in this process is called without a socket', async () => {
    const client = await connect(createLocalHandler(countingAgent))
    expect((await client.send('hello')).text).toBe('hi')
    expect(client.card.name).toBe('Test')
  })

  it('all clients of an agent definition share its tasks', async () => {
    const test = agent({ name: 'Test' }, countingAgent)
    const one = await connect(test)
    const { task } = await one.send('count')
    const other = await connect(test)
    expect((await other.task(task?.id ?? '').get()).status.state).toBe('completed')
    expect((await collect(other.stream('count'))).at(-1)).toMatchObject({ type: 'status', isLast: true })
  })

  it('an agent definition without fetch is rejected with what to use instead', async () => {
    const { profile, run } = agent({ name: 'Test' }, countingAgent)
    await expect(connect({ profile, run } as never)).rejects.toThrow('createHandler(agent)')
  })

  it('a card file can be named by its path or URL', async () => {
    const fetch = through(createLocalHandler(countingAgent))
    const path = join(await temporaryDirectory(), 'card.json')
    await writeFile(path, JSON.stringify(jsonRpc('1.0')))
    for (const target of [path, relative('.', path), pathToFileURL(path), pathToFileURL(path).href]) {
      const client = await connect(target, { fetch })
      expect((await client.send('hello')).text).toBe('hi')
      expect(client.explain().lines[0]).toBe(`The card was found at ${target}.`)
    }
  })

  it('a file that is missing, no JSON or no card is rejected', async () => {
    const path = join(await temporaryDirectory(), 'card.json')
    await expect(connect(path)).rejects.toMatchObject({ code: 'invalid-params', reason: 'file' })
    await writeFile(path, '{"name"')
    await expect(connect(path)).rejects.toMatchObject({ code: 'invalid-params', reason: 'not-a-card' })
    await writeFile(path, '{"name":"Test"}')
    await expect(connect(path)).rejects.toMatchObject({ reason: 'not-a-card', hint: expect.stringContaining('url') })
  })

  it('a card file that fails verification is rejected', async () => {
    const path = join(await temporaryDirectory(), 'card.json')
    await writeFile(path, JSON.stringify(jsonRpc('1.0')))
    const verifyCard = () => Promise.reject(new Error('no signature'))
    await expect(connect(path, { verifyCard })).rejects.toMatchObject({ reason: 'card-verification-failed' })
  })

  it('a URL can be that of a card', async () => {
    const peer = fakePeer(cardRoute(jsonRpc('1.0'), '/cards/mine.json'), agentRoute(createLocalHandler(countingAgent)))
    const client = await connect('http://localhost/cards/mine.json', { fetch: through(peer) })
    expect((await client.send('hello')).text).toBe('hi')
    expect(peer.requestLines).toEqual(['GET /cards/mine.json', 'POST /'])
  })

  it('a URL can be the path at which an agent is mounted', async () => {
    const mounted = jsonRpc('1.0', 'http://localhost/agents/one')
    const handler = createLocalHandler(countingAgent, { path: '/agents/one' })
    const peer = fakePeer(cardRoute(mounted, `/agents/one${cardPath}`), agentRoute(handler))
    const client = await connect(new URL('http://localhost/agents/one/'), { fetch: through(peer) })
    expect((await client.send('hello')).text).toBe('hi')
  })

  it('a card can be passed in as JSON or as the card of another client', async () => {
    const fetch = through(createLocalHandler(countingAgent))
    for (const target of [jsonRpc('1.0'), (await connect(createLocalHandler(countingAgent))).card]) {
      expect((await (await connect(target, { fetch })).send('hello')).text).toBe('hi')
    }
  })

  it('the card is also searched at its path before 0.3', async () => {
    const peer = fakePeer(
      cardRoute({ ...legacy, protocolVersion: '0.2.5' }, legacyCardPath),
      agentRoute(createLocalHandler(countingAgent)),
    )
    const client = await connect(peer)
    expect((await client.send('hello')).text).toBe('hi')
    expect(peer.requestLines).toEqual([`GET ${cardPath}`, `GET ${legacyCardPath}`, 'POST /'])
  })

  it('an unchanged card is not transferred again', async () => {
    const peer = fakePeer(createLocalHandler(countingAgent).fetch)
    const cardCache = createCardCache()
    await connect(peer, { cardCache })
    const client = await connect(peer, { cardCache })
    expect(peer.requests[1]?.headers.get('if-none-match')).toMatch(/^"/)
    expect(client.explain().steps[0]).toMatchObject({ type: 'card', outcome: 'unchanged' })
    expect((await client.send('hello')).text).toBe('hi')
  })

  it('a card that fails verification is rejected', async () => {
    const verifyCard = () => {
      throw new Error('no signature')
    }
    await expect(connect(createLocalHandler(countingAgent), { verifyCard })).rejects.toMatchObject({
      reason: 'card-verification-failed',
      message: expect.stringContaining('no signature'),
    })
  })

  it('a text that is no address is rejected', async () => {
    await expect(connect('not an address')).rejects.toMatchObject({ code: 'invalid-params', reason: 'bad-url' })
  })
})

describe('the dialect of a client', () => {
  const dialectOf = async (wire: object) => {
    const client = await connect(fakePeer(cardRoute(wire), agentRoute(createLocalHandler(countingAgent))))
    await client.send('hello')
    return client.explain().endpoint?.dialect
  }

  it('the first interface of a card decides the dialect', async () => {
    expect(await dialectOf(jsonRpc('1.0'))).toBe('v1.0')
    expect(await dialectOf(jsonRpc('0.3'))).toBe('v0.3')
    expect(await dialectOf({ ...legacy, ...jsonRpc('1.0'), protocolVersion: '0.3.0' })).toBe('v1.0')
  })

  it('the members of a card without interfaces decide the dialect', async () => {
    expect(await dialectOf({ ...legacy, protocolVersion: '0.3.0' })).toBe('v0.3')
    expect(await dialectOf({ ...legacy, protocolVersion: '0.2.9' })).toBe('v0.3')
    expect(await dialectOf({ ...legacy, protocolVersion: '0.2.6' })).toBe('v0.2')
    expect(await dialectOf({ ...legacy, protocolVersion: '1.0' })).toBe('v1.0')
    expect(await dialectOf({ ...legacy, securitySchemes: {} })).toBe('v0.2')
    expect(await dialectOf({ ...legacy, authentication: { schemes: ['bearer'] } })).toBe('v0.1')
    expect(await dialectOf({ ...legacy, defaultInputModes: undefined })).toBe('v0.1')
  })

  it('both dialects of an ambiguous card are tried', async () => {
    const peer = fakePeer(cardRoute(legacy), agentRoute(createLocalHandler(countingAgent, { dialects: ['v0.1'] })))
    const client = await connect(peer)
    expect((await client.send('hello')).text).toBe('hi')
    expect(client.explain().endpoint?.dialect).toBe('v0.1')
    await client.send('hello')
    expect(peer.requestLines.filter((request) => request.startsWith('POST'))).toHaveLength(3)
  })

  it('another dialect is used if the card names a wrong one', async () => {
    for (const [declared, actual] of [
      ['1.0', 'v0.3'],
      ['0.3', 'v1.0'],
      ['1.0', 'v0.1'],
      ['0.1', 'v0.3'],
    ] as const) {
      const notices: Notice[] = []
      const peer = fakePeer(
        cardRoute(jsonRpc(declared)),
        agentRoute(createLocalHandler(countingAgent, { dialects: [actual] })),
      )
      const client = await connect(peer, { onNotice: (notice) => notices.push(notice) })
      expect((await client.send('hello')).text).toBe('hi')
      expect(client.explain().endpoint?.dialect).toBe(actual)
      expect(notices).toMatchObject([{ type: 'fallback-endpoint' }])
    }
  })

  it('the caller can choose the dialect', async () => {
    const client = await connect(createLocalHandler(countingAgent), { dialects: ['v0.3-proto'] })
    await client.send('hello')
    expect(client.explain().endpoint).toMatchObject({ dialect: 'v0.3-proto', binding: 'HTTP+JSON' })
  })
})

describe('explain', () => {
  it('explain lists the attempts and the endpoint', async () => {
    const peer = fakePeer(
      cardRoute(jsonRpc('1.0', 'http://localhost/wrong'), legacyCardPath),
      agentRoute(createLocalHandler(countingAgent)),
    )
    const client = await connect(peer)
    expect(client.explain().lines.at(-1)).toBe('No call has succeeded yet.')
    await client.send('hello')
    expect(client.explain().lines).toEqual([
      `There was no card at http://localhost${cardPath}: http://localhost${cardPath} answered with HTTP status 404: "Not Found"`,
      `The card was found at http://localhost${legacyCardPath}.`,
      'The card was read: supportedInterfaces names the versions.',
      expect.stringMatching(/^JSONRPC \(A2A 1\.0\) at http:\/\/localhost\/wrong did not work: .* status 404/),
      'JSONRPC (A2A 1.0) at http://localhost/ works: the card names another address, and this one is beside the card.',
      'Calls go to JSONRPC (A2A 1.0) at http://localhost/.',
    ])
  })
})

describe('the options of connect', () => {
  it('an unknown option is refused with the names of all options, before any request', async () => {
    const message = /^connect: timout is not an option\. The options are fetch, .*timeout, .*clock\.$/
    await expect(connect(url, { timout: 3 } as never)).rejects.toThrow(message)
  })

  it('the names are those that are checked on Node', () => {
    const failure = () => checkConnectOptions({ zzzzzzzzzzzz: 1 } as never)
    expect(failure).toThrow(`zzzzzzzzzzzz is not an option. The options are ${optionNames.join(', ')}.`)
  })
})
