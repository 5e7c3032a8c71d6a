import { type Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/agent/turn.ts'
import { connect } from '../../src/entries/client.ts'
import { grpcClient, readAll } from '../support/grpc/grpc-client.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const stars = 'https://example.com/stars/v1'
const moons = 'https://example.com/moons/v1'

/** Says which extensions it works with. */
async function tell(turn: Turn): Promise<string> {
  return turn.extensions.join(' ')
}

async function open(required: boolean) {
  const profile = { name: 'Sky', extensions: [{ uri: stars, required }, { uri: moons }] }
  const { server } = await startTestServer(tell, { profile, grpc: true })
  return server
}

type Headers = Readonly<Record<string, string>>

const newest = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const kind = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
const proto = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] }
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

const older = { id: 't', message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }

/** How a message is sent over HTTP, by which header its caller names extensions, and what it is told without. */
const ways: readonly (readonly [string, string, object, string, number])[] = [
  ['JSON-RPC of 1.0', '/', rpc('SendMessage', { message: newest }), 'a2a-extensions', -32008],
  ['a stream of 1.0', '/', rpc('SendStreamingMessage', { message: newest }), 'a2a-extensions', -32008],
  ['REST of 1.0', '/message:send', { message: newest }, 'a2a-extensions', 400],
  ['a stream over REST of 1.0', '/message:stream', { message: newest }, 'a2a-extensions', 400],
  ['JSON-RPC of 0.3', '/', rpc('message/send', { message: kind }), 'x-a2a-extensions', -32004],
  ['REST of 0.3', '/v1/message:send', { message: proto }, 'x-a2a-extensions', -32004],
  ['JSON-RPC of 0.1', '/', rpc('tasks/send', older), 'x-a2a-extensions', -32004],
]

describe.each(ways)('over %s', (_, path, body, header, code) => {
  const post = async (url: string, headers: Headers = {}) => {
    const all = { 'content-type': 'application/json', ...headers }
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: all, body: JSON.stringify(body) })
    return { headers: response.headers, text: await response.text() }
  }

  it('extensions that the caller asks for and the agent has are at work, and are named in the answer', async () => {
    const { url } = await open(true)
    const { headers, text } = await post(url, { [header]: ` ${stars},, https://example.com/none , ${stars}` })
    expect(headers.get(header)).toBe(stars)
    expect(text).toContain(`"${stars}"`)
    const both = await post((await open(true)).url, { 'a2a-extensions': moons, 'x-a2a-extensions': stars })
    expect(both.headers.get(header)).toBe(`${moons}, ${stars}`)
  })

  it('a caller that does not know what the agent insists on is told so', async () => {
    const { url } = await open(true)
    for (const headers of [{}, { [header]: moons }]) {
      const { text } = await post(url, headers as Headers)
      expect(text).toContain(`"code":${code}`)
      expect(text).toContain(stars)
      expect(text).not.toContain(moons)
    }
  })

  it('nothing is named where nothing is at work', async () => {
    const { url } = await open(false)
    for (const headers of [{}, { [header]: 'https://example.com/none' }]) {
      expect((await post(url, headers as Headers)).headers.get(header)).toBeNull()
    }
  })
})

describe.each([
  ['lf.a2a.v1.A2AService', newest, 'a2a-extensions', 'message'],
  ['a2a.v1.A2AService', proto, 'x-a2a-extensions', 'request'],
] as const)('over gRPC of %s', (service, message, header, member) => {
  const request = { [member]: message }

  it('extensions are at work, and are named before the answer', async () => {
    const { port } = await open(true)
    const stream = grpcClient(port).stream(`${service}/SendStreamingMessage`, request, {
      metadata: { [header]: stars },
    })
    const named = new Promise<Metadata>((resolve) => stream.once('metadata', resolve))
    const { messages } = await readAll(stream)
    expect(JSON.stringify(messages)).toContain(stars)
    expect((await named).get(header)).toEqual([stars])
  })

  it('a caller that does not know what the agent insists on is told so', async () => {
    const { port } = await open(true)
    const error: ServiceError = await grpcClient(port)
      .unary(`${service}/SendMessage`, request)
      .catch((error) => error)
    expect(error.code).toBe(status.FAILED_PRECONDITION)
    expect(error.details).toContain(stars)
  })
})

it('a client declares the extensions that it knows', async () => {
  const { url } = await open(true)
  const knowing = await connect(url, { extensions: [stars] })
  expect((await knowing.send('hi')).text).toBe(stars)
  const ignorant = await connect(url)
  await expect(ignorant.send('hi')).rejects.toMatchObject({ code: 'extension-required' })
})

it('what is only read needs no extension', async () => {
  const { url } = await open(true)
  const response = await fetch(`${url}/tasks`)
  expect(response.status).toBe(200)
})
