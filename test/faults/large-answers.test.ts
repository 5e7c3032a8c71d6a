import { type ClientHttp2Stream, connect } from 'node:http2'
import { expect, it, onTestFinished } from 'vitest'
import { encodeFrame } from '../../src/core/transports/grpc/frames.ts'
import { messageNamed } from '../../src/core/transports/grpc/proto-registry.ts'
import { eventually, startServerProcess } from '../support/processes/server-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { connectToPort } from '../support/wire/raw-http1.ts'
import { sendParams, type WirePage, type WireTask } from '../support/wire/wire-client.ts'

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

const taskLength = 12 * 2 ** 20

/** A server with a small heap, and tasks of 12 MB. */
async function startFilled(tasks: number) {
  const server = await startServerProcess(await temporaryDirectory(), { grpc: true }, ['--max-old-space-size=160'])
  const post = (method: string, params: object) =>
    fetch(server.url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
  const ids: string[] = []
  for (let n = 0; n < tasks; n++) {
    const response = await post('SendMessage', { ...sendParams('fill 12'), configuration: { returnImmediately: true } })
    const { result } = (await response.json()) as { result: { task: WireTask } }
    ids.push(result.task.id)
    await eventually(async () => (await stateOf(result.task.id)) === 'TASK_STATE_COMPLETED')
  }
  async function stateOf(id: string): Promise<string | undefined> {
    const { result } = (await (await post('ListTasks', {})).json()) as { result: WirePage }
    return result.tasks.find((task) => task.id === id)?.status.state
  }
  return { server, post, ids, port: Number(new URL(server.url).port) }
}

it('callers that never read large answers do not end the process, and others are served', async () => {
  const { server, post, ids, port } = await startFilled(3)
  const requests = ids.flatMap((id) => {
    const rpc = (method: string, params: object = { id }) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const call = (body: string, accept: string) =>
      `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\na2a-version: 1.0\r\naccept: ${accept}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    return [
      call(rpc('GetTask'), 'application/json'),
      call(rpc('GetTask'), 'application/json').repeat(4),
      call(rpc('ListTasks', { includeArtifacts: true }), 'application/json'),
      `GET /tasks/${id} HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n\r\n`,
    ]
  })
  const sockets = Array.from({ length: 6 }, () => requests)
    .flat()
    .map((request) => {
      const socket = connectToPort(port).pause()
      socket.on('error', () => {})
      socket.write(request)
      return socket
    })
  const [id = ''] = ids
  const refused = await eventuallyRefused(() => post('GetTask', { id }))
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refused.json()).toMatchObject({
    id: 1,
    error: { message: expect.stringMatching(/to be read|being read/) },
  })
  const rest = await fetch(`${server.url}/tasks/${id}`, { headers })
  expect([rest.status, rest.headers.get('retry-after')]).toEqual([503, '1'])
  // The server may be overloaded for a moment by the answers that it has just written.
  await eventually(async () => 'result' in ((await (await post('SendMessage', sendParams('say hi'))).json()) as object))
  await eventually(async () => (await fetch(`${server.url}/healthz`)).status === 200)

  for (const socket of sockets) socket.destroy()
  await eventually(async () => {
    const response = await post('GetTask', { id })
    const text = await response.text()
    return response.status === 200 && text.length > taskLength
  })
  expect(server.stderr()).not.toContain('heap out of memory')
})

it('callers over HTTP/2 and gRPC that never read get 503 and UNAVAILABLE', async () => {
  const { server, post, ids } = await startFilled(1)
  const session = connect(server.url)
  onTestFinished(() => session.destroy())
  const [id = ''] = ids
  const statusOf = async (stream: ClientHttp2Stream) =>
    await new Promise<string>((resolve) => {
      stream.on('error', () => resolve('broken'))
      stream.on('response', (head) => resolve(`${head[':status']} ${head['grpc-status'] ?? ''}`.trim()))
    })
  const plain = () => {
    const stream = session.request({ ':path': `/tasks/${id}`, 'a2a-version': '1.0' })
    return statusOf(stream)
  }
  const grpc = (method: string, type: string) => {
    const path = `/lf.a2a.v1.A2AService/${method}`
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' })
    stream.end(encodeFrame(messageNamed(`lf.a2a.v1.${type}`), { id }))
    return statusOf(stream)
  }
  const statuses: string[] = []
  for (let n = 0; n < 6; n++) statuses.push(await plain(), await grpc('GetTask', 'GetTaskRequest'))
  expect(new Set(statuses)).toEqual(new Set(['200', '503', '200 14']))
  session.destroy()
  await eventually(async () => (await post('GetTask', { id })).status === 200)
})

it('a body with very many values is refused, and long texts are not', async () => {
  const { server } = await startFilled(0)
  const params = (data: string) => `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${data}}]}}`
  const send = async (path: string, body: string) => {
    const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body })
    return [response.status, await response.json()]
  }
  const many = params(`[${'[],'.repeat(2_500_000)}0]`)
  const problem = { message: expect.stringContaining('more than 500000 values') }
  const rpc = (body: string) => `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${body}}`
  expect(await send('/', rpc(many))).toMatchObject([200, { error: { code: -32700, ...problem } }])
  expect(await send('/message:send', many)).toMatchObject([400, { error: problem }])
  const infinite = { message: expect.stringContaining('too large for JSON') }
  expect(await send('/', rpc(params('[1e400]')))).toMatchObject([200, { error: { code: -32700, ...infinite } }])
  expect(await send('/message:send', params('{"n":1e400}'))).toMatchObject([400, { error: infinite }])
  const long = params(JSON.stringify({ text: 'x'.repeat(9 * 2 ** 20) }))
  expect(await send('/', rpc(long))).toMatchObject([200, { result: {} }])
})

/** Every answer is read, so that none of them is the one that has no room. */
async function eventuallyRefused(send: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await send()
    if (response.status === 503) return response
    await response.text()
  }
}

it('a list whose artifacts are too long for one page continues on the next', async () => {
  const { post, ids } = await startFilled(3)
  const seen: string[] = []
  let pageToken = ''
  do {
    const response = await post('ListTasks', { includeArtifacts: true, ...(pageToken && { pageToken }) })
    expect(response.status).toBe(200)
    const { result } = (await response.json()) as { result: WirePage }
    expect(result.tasks).toHaveLength(1)
    expect(result.totalSize).toBe(3)
    seen.push(...result.tasks.map((task) => task.id))
    pageToken = result.nextPageToken
  } while (pageToken)
  expect(seen.toSorted()).toEqual(ids.toSorted())
})
