import type { Part as SdkPart } from 'a2a-sdk-0-3-last'
import { ClientFactory, RestTransportFactory } from 'a2a-sdk-0-3-last/client'
import { GrpcTransportFactory } from 'a2a-sdk-0-3-last/client/grpc'
import * as sdk from 'a2a-sdk-0-3-last/server'
import { agentCardHandler, restHandler } from 'a2a-sdk-0-3-last/server/express'
import { A2AService, grpcService } from 'a2a-sdk-0-3-last/server/grpc'
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/core/agent/turn.ts'
import { connect } from '../../src/core/client/connect.ts'
import type { ConnectOptions } from '../../src/core/client/options.ts'
import type { Task } from '../../src/core/protocol/model.ts'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { grpcClient } from '../support/grpc/grpc-client.ts'
import { grpcTransport } from '../support/grpc/grpc-transport.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { startSdkGrpcServer } from '../support/sdk/grpc-server.ts'
import { legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

/** All bytes, and bytes that are a base64 text themselves. */
const binary = Buffer.from(Array.from({ length: 256 }, (_, index) => index)).toString('base64')
const looksEncoded = btoa('aGVsbG8gd29ybGQh')
const files = [binary, looksEncoded]

const profile = { name: 'Files', inputModes: ['*/*'], outputModes: ['*/*'] }

/** Returns the files of the message, and counts their bytes in the description. */
async function returnFiles(turn: Turn): Promise<void> {
  const sizes = turn.message.parts.map((part) => ('raw' in part ? Buffer.from(part.raw, 'base64').length : -1))
  await turn.artifact('files', { description: sizes.join() }).close({ parts: turn.message.parts })
}

function serveFiles(options: TestServerOptions = {}) {
  return startTestServer(returnFiles, { grpc: true, profile, ...options })
}

const fileParts = files.map((raw) => ({ raw, mediaType: 'application/octet-stream', filename: 'a.bin' }))

/** The description of an artifact with the files, and its files as base64. */
function filesIn({ artifacts: [artifact] }: Pick<Task, 'artifacts'>) {
  return [artifact?.description, artifact?.parts.map((part) => ('raw' in part ? part.raw : undefined))]
}

const arrived = ['256,16', files]

describe('the files of 0.3', () => {
  describe.each([
    ['REST', () => new RestTransportFactory()],
    ['gRPC', () => new GrpcTransportFactory()],
  ])('the SDK for TypeScript as the client over %s', (_, createTransport) => {
    it('files arrive as they were sent, and come back', async () => {
      const { server } = await serveFiles()
      const client = await new ClientFactory({ transports: [createTransport()] }).createFromUrl(server.url)
      const parts = files.map((bytes): SdkPart => ({ kind: 'file', file: { bytes, mimeType: 'image/png' } }))
      const message = { kind: 'message', messageId: 'm', role: 'user', parts } as const
      const sent = await client.sendMessage({ message, configuration: { blocking: true } })
      if (sent.kind !== 'task') throw new Error('expected a task')
      for (const task of [sent, await client.getTask({ id: sent.id })]) {
        expect(task.artifacts?.[0]).toMatchObject({ description: '256,16', parts })
      }
    })
  })

  describe('a client that writes base64 texts, as those for Python, Go and Java', () => {
    const content = files.map((raw) => ({ file: { fileWithBytes: btoa(raw), mimeType: 'image/png' } }))
    const message = { messageId: 'm', role: 'ROLE_USER', content }

    it.each(['python-httpx/0.28.1', 'Java-http-client/17.0.19', 'Go-http-client/1.1', 'unknown/1'])(
      'files of %s arrive over REST, and come back',
      async (userAgent) => {
        const { server } = await serveFiles()
        const headers = { 'content-type': 'application/json', 'user-agent': userAgent }
        const body = JSON.stringify({ message, configuration: { blocking: true } })
        const sent = await fetch(`${server.url}/v1/message:send`, { method: 'POST', headers, body })
        expect(sent.headers.get('x-a2a-file-bytes')).toBe('base64')
        const { task } = await sent.json()
        const read = await (await fetch(`${server.url}/v1/tasks/${task.id}`, { headers })).json()
        for (const { artifacts } of [task, read]) {
          expect(artifacts).toMatchObject([{ description: '256,16', parts: content }])
        }
      },
    )

    it('files arrive over gRPC, and come back', async () => {
      const { server } = await serveFiles()
      const client = grpcClient(server.port, { 'grpc.primary_user_agent': 'grpc-python/1.80.0' })
      const texts = files.map((raw) => ({ file: { fileWithBytes: Buffer.from(raw), mimeType: 'image/png' } }))
      const request = { message: { ...message, content: texts }, configuration: { blocking: true } }
      const { task } = await client.unary('a2a.v1.A2AService/SendMessage', { request: request.message, ...request })
      expect(task.artifacts[0].description).toBe('256,16')
      expect(
        task.artifacts[0].parts.map((part: { file: { fileWithBytes: Buffer } }) => `${part.file.fileWithBytes}`),
      ).toEqual(files)
    })
  })

  it('a caller with credentials is remembered by the bytes that it sent', async () => {
    const keys = ['a', 'b'].map(async (id) => ({ id, hash: await hashApiKey(id) }))
    const { server } = await serveFiles({ auth: { schemes: { key: apiKey({ keys: await Promise.all(keys) }) } } })
    const post = async (token: string, path: string, body?: object) => {
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'unknown/1',
        'x-api-key': token,
      }
      const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
      return await fetch(`${server.url}/v1${path}`, init)
    }
    const content = [{ file: { fileWithBytes: binary, name: 'a.bin' } }]
    const request = { message: { messageId: 'm', role: 'ROLE_USER', content }, configuration: { blocking: true } }
    const { task } = await (await post('a', '/message:send', request)).json()
    const later = await post('a', `/tasks/${task.id}`)
    expect(later.headers.get('x-a2a-file-bytes')).toBe('raw')
    expect((await later.json()).artifacts).toMatchObject([{ parts: content }])
    expect((await post('b', '/tasks/x')).headers.get('x-a2a-file-bytes')).not.toBe('raw')
  })

  const bindings: [string, () => ConnectOptions['bindings']][] = [
    ['REST', () => ['HTTP+JSON']],
    ['gRPC', () => [grpcTransport()]],
  ]

  describe.each(bindings)('our client over %s', (binding, transports) => {
    const open = (origin: string, options: ConnectOptions = {}) =>
      connect(origin, { dialects: ['v0.3-proto'], bindings: transports() ?? [], ...options })

    it('files, their names and their metadata arrive at our server, and come back', async () => {
      const { server } = await serveFiles()
      const client = await open(server.url)
      const parts = [...fileParts, { text: 'x', mediaType: 'text/markdown', metadata: { k: 1 } }]
      const { task } = await client.send(parts)
      expect(task?.artifacts[0]).toMatchObject({ description: '256,16,-1', parts })
      expect((await client.task(task?.id ?? '').get()).artifacts).toEqual(task?.artifacts)
      expect(client.explain()).toMatchObject({ fileBytes: expect.stringMatching(/^(raw|base64)$/) })
      expect(client.explain().lines.at(-1)).toMatch(/^Files travel as .*, as this agent says in its answers\.$/)
    })

    it('an operator and a user who pin the form agree', async () => {
      for (const fileBytes of ['raw', 'base64'] as const) {
        const { server } = await serveFiles({ dialects: { fileBytes } })
        const client = await open(server.url, { fileBytes })
        const { task } = await client.send(fileParts)
        expect(task && filesIn(task)).toEqual(arrived)
        expect(client.explain()).toMatchObject({ fileBytes })
      }
    })

    it('files arrive at a server of the SDK for TypeScript, and come back', async () => {
      const client = await open(await (binding === 'gRPC' ? startGrpc() : startRest()))
      const { task } = await client.send(fileParts)
      expect(task && filesIn(task)).toEqual(arrived)
      expect(client.explain()).toMatchObject({ fileBytes: 'raw' })
    })
  })
})

/** An agent of the SDK for TypeScript that returns the files of its message. */
const sdkAgent: sdk.AgentExecutor = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const sizes = userMessage.parts.map((part) =>
      part.kind === 'file' && 'bytes' in part.file ? Buffer.from(part.file.bytes, 'base64').length : -1,
    )
    const artifact = { artifactId: 'files', description: sizes.join(), parts: userMessage.parts }
    bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'completed' }, artifacts: [artifact] })
    bus.finished()
  },
  async cancelTask() {},
}

const userBuilder = async () => ({ isAuthenticated: true, userName: 'alice' })

const handlerFor = (origin: string, more: object) =>
  new sdk.DefaultRequestHandler(legacySdkCard(origin, more), new sdk.InMemoryTaskStore(), sdkAgent)

function startRest(): Promise<string> {
  return startExpressServer((app, origin) => {
    const requestHandler = handlerFor(origin, { url: `${origin}/rest`, preferredTransport: 'HTTP+JSON' })
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rest', restHandler({ requestHandler, userBuilder }))
  })
}

async function startGrpc(): Promise<string> {
  let requestHandler = handlerFor('', {})
  await startSdkGrpcServer(A2AService, (address) => {
    requestHandler = handlerFor('', { url: address, preferredTransport: 'GRPC' })
    return grpcService({ requestHandler, userBuilder })
  })
  return await startExpressServer((app) => {
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  })
}
