import { type Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { connect } from '../../../src/entries/client.ts'
import { grpcClient, readAll } from '../../support/grpc/grpc-client.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

const stars = 'https://example.com/stars/v1'
const moons = 'https://example.com/moons/v1'

/** Returns the active extensions. */
async function listExtensions(turn: Turn): Promise<string> {
  return turn.extensions.join(' ')
}

async function start(required: boolean) {
  const profile = { name: 'Sky', extensions: [{ uri: stars, required }, { uri: moons }] }
  const { server } = await startTestServer(listExtensions, { profile, grpc: true })
  return server
}

type Headers = Readonly<Record<string, string>>

const v10Message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const v03Message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
const protoMessage = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] }
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

const v01Params = { id: 't', message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }

/** Name, path, body, the header that names extensions, and the error code without a required one. */
const bindings: readonly (readonly [string, string, object, string, number])[] = [
  ['1.0 JSON-RPC', '/', rpc('SendMessage', { message: v10Message }), 'a2a-extensions', -32008],
  ['a 1.0 JSON-RPC stream', '/', rpc('SendStreamingMessage', { message: v10Message }), 'a2a-extensions', -32008],
  ['1.0 REST', '/message:send', { message: v10Message }, 'a2a-extensions', 400],
  ['a 1.0 REST stream', '/message:stream', { message: v10Message }, 'a2a-extensions', 400],
  ['0.3 JSON-RPC', '/', rpc('message/send', { message: v03Message }), 'x-a2a-extensions', -32004],
  ['a 0.3 JSON-RPC stream', '/', rpc('message/stream', { message: v03Message }), 'x-a2a-extensions', -32004],
  ['0.2 JSON-RPC', '/?A2A-Version=0.2', rpc('message/send', { message: v03Message }), 'x-a2a-extensions', -32004],
  ['0.3 REST', '/v1/message:send', { message: protoMessage }, 'x-a2a-extensions', -32004],
  ['0.1 JSON-RPC', '/', rpc('tasks/send', v01Params), 'x-a2a-extensions', -32004],
]

describe.each(bindings)('over %s', (_, path, body, header, code) => {
  const post = async (url: string, headers: Headers = {}) => {
    const allHeaders = { 'content-type': 'application/json', ...headers }
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: allHeaders, body: JSON.stringify(body) })
    return { headers: response.headers, text: await response.text() }
  }

  it('requested and supported extensions are activated and named in the response', async () => {
    const { url } = await start(true)
    const { headers, text } = await post(url, { [header]: ` ${stars},, https://example.com/none , ${stars}` })
    expect(headers.get(header)).toBe(stars)
    expect(text).toContain(`"${stars}"`)
    const both = await post((await start(true)).url, { 'a2a-extensions': moons, 'x-a2a-extensions': stars })
    expect(both.headers.get(header)).toBe(`${moons}, ${stars}`)
  })

  it('a call without a required extension fails', async () => {
    const { url } = await start(true)
    for (const headers of [{}, { [header]: moons }]) {
      const { text } = await post(url, headers as Headers)
      expect(text).toContain(`"code":${code}`)
      expect(text).toContain(stars)
      expect(text).not.toContain(moons)
    }
  })

  it('a required extension that only the message names counts before 1.0', async () => {
    const { url } = await start(true)
    const named = JSON.stringify(body).replace('"role":', `"extensions":["${stars}"],"role":`)
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: named,
    })
    const text = await response.text()
    if (header === 'a2a-extensions') {
      expect(text).toContain(`"code":${code}`)
      expect(text).toContain('Name them in the header A2A-Extensions.')
      return
    }
    expect(text).toContain(`"text":"${stars}"`)
    expect(response.headers.get(header)).toBe(stars)
    expect((await post(url)).text).toContain('Name them in the header X-A2A-Extensions or in message.extensions.')
  })

  it('a response without active extensions has no extensions header', async () => {
    const { url } = await start(false)
    for (const headers of [{}, { [header]: 'https://example.com/none' }]) {
      expect((await post(url, headers as Headers)).headers.get(header)).toBeNull()
    }
  })
})

describe.each([
  ['lf.a2a.v1.A2AService', v10Message, 'a2a-extensions', 'message'],
  ['a2a.v1.A2AService', protoMessage, 'x-a2a-extensions', 'request'],
] as const)('over gRPC service %s', (service, message, header, member) => {
  const request = { [member]: message }

  it('extensions are activated and named in the initial metadata', async () => {
    const { port } = await start(true)
    const stream = grpcClient(port).stream(`${service}/SendStreamingMessage`, request, {
      metadata: { [header]: stars },
    })
    const metadata = new Promise<Metadata>((resolve) => stream.once('metadata', resolve))
    const { messages } = await readAll(stream)
    expect(JSON.stringify(messages)).toContain(stars)
    expect((await metadata).get(header)).toEqual([stars])
  })

  it('a call without a required extension fails', async () => {
    const { port } = await start(true)
    const error: ServiceError = await grpcClient(port)
      .unary(`${service}/SendMessage`, request)
      .catch((error) => error)
    expect(error.code).toBe(status.FAILED_PRECONDITION)
    expect(error.details).toContain(stars)
  })
})

it('a client declares its supported extensions', async () => {
  const { url } = await start(true)
  const supporting = await connect(url, { extensions: [stars] })
  expect((await supporting.send('hi')).text).toBe(stars)
  const unaware = await connect(url)
  await expect(unaware.send('hi')).rejects.toMatchObject({ code: 'extension-required' })
})

it('reading tasks needs no extension', async () => {
  const { url } = await start(true)
  const response = await fetch(`${url}/tasks`)
  expect(response.status).toBe(200)
})
