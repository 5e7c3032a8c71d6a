import { type ServiceError, status } from '@grpc/grpc-js'
import { expect, it } from 'vitest'
import { grpcClient } from '../support/grpc/grpc-client.ts'
import { readDetails } from '../support/grpc/status-details.ts'
import { eventually, release, startServerProcess } from '../support/processes/server-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { sendParams } from '../support/wire/wire-client.ts'

const background = { configuration: { returnImmediately: true } }
const json = { 'content-type': 'application/json' }
const messageOf = (text: string) => sendParams(text).message

/** A server with so little memory that it can run out of it. */
async function startSmall(options: Parameters<typeof startServerProcess>[1] = {}) {
  const directory = await temporaryDirectory()
  const server = await startServerProcess(directory, { grpc: true, ...options }, ['--max-old-space-size=96'])
  const post = (body: object, version = '1.0') =>
    fetch(server.url, { method: 'POST', headers: { ...json, 'a2a-version': version }, body: JSON.stringify(body) })
  const send = (text: string, more: object = {}) =>
    post({ jsonrpc: '2.0', id: 7, method: 'SendMessage', params: { ...sendParams(text), ...more } })
  return { directory, server, send, post }
}

async function healthOf(url: string): Promise<unknown> {
  const response = await fetch(`${url}/healthz`)
  return { code: response.status, ...((await response.json()) as object) }
}

it('a server whose memory is nearly full answers 503 in every protocol, and recovers', async () => {
  const { directory, server, send, post } = await startSmall()
  const { url } = server
  const client = grpcClient(Number(new URL(url).port))
  const statuses: number[] = []
  await eventually(async () => {
    statuses.push((await send('hoard 1 free', background)).status)
    return statuses.at(-1) !== 200
  })
  expect(statuses.at(-1)).toBe(503)
  expect(statuses.length).toBeGreaterThan(3)

  const refused = await send('hi')
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  const newest = (await refused.json()) as { id: number; error: { code: number; data: readonly object[] } }
  expect(newest).toMatchObject({ id: 7, error: { code: -32603 } })
  expect(newest.error.data).toContainEqual(expect.objectContaining({ retryDelay: '1s' }))
  const older = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
  const third = await post({ jsonrpc: '2.0', id: 8, method: 'message/send', params: { message: older } }, '0.3')
  expect([third.status, await third.json()]).toMatchObject([503, { id: 8, error: { code: -32603 } }])
  const oldest = { id: 't', message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }
  const first = await post({ jsonrpc: '2.0', id: 9, method: 'tasks/send', params: oldest }, '')
  expect([first.status, await first.json()]).toMatchObject([503, { id: 9, error: { code: -32011 } }])
  const rest = await fetch(`${url}/message:send`, {
    method: 'POST',
    headers: { ...json, 'a2a-version': '1.0' },
    body: JSON.stringify({ message: messageOf('hi') }),
  })
  expect([rest.status, rest.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await rest.json()).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } })
  const error: ServiceError = await client
    .unary('lf.a2a.v1.A2AService/SendMessage', {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
    })
    .catch((thrown) => thrown)
  expect(error.code).toBe(status.UNAVAILABLE)
  expect(readDetails(error)).toContain('RetryInfo')
  expect(await healthOf(url)).toEqual({ code: 503, status: 'overloaded' })
  expect(await client.unary('grpc.health.v1.Health/Check', {})).toEqual({ status: 'NOT_SERVING' })
  expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(200)

  await release(directory, 'free')
  await eventually(async () => (await send('hi')).status === 200)
  expect(await healthOf(url)).toEqual({ code: 200, status: 'ok' })
  expect(await client.unary('grpc.health.v1.Health/Check', {})).toEqual({ status: 'SERVING' })
  expect(server.stderr()).toContain('overloaded')
  expect(server.stderr()).not.toContain('heap out of memory')
})

it('many concurrent large bodies get 503, and the process survives', async () => {
  const { server, send } = await startSmall()
  const large = { metadata: { padding: 'x'.repeat(2 * 2 ** 20) } }
  const statuses: number[] = []
  for (let round = 0; round < 4; round++) {
    const answers = Array.from({ length: 48 }, () =>
      send('hi', large).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    statuses.push(...(await Promise.all(answers)))
  }
  expect(new Set(statuses).size).toBeLessThanOrEqual(3)
  expect(statuses.filter((code) => code === 503).length).toBeGreaterThan(10)
  expect(statuses.filter((code) => code === 200).length).toBeGreaterThan(10)
  await eventually(async () => (await send('still there?')).status === 200)
  expect(await healthOf(server.url)).toEqual({ code: 200, status: 'ok' })
})

it('requests beyond the limit get 503 at once, until others have finished', async () => {
  const { directory, send } = await startSmall({ http: { overload: { requests: 50, connections: 1_000 } } })
  const waiting = Array.from({ length: 50 }, () => send('hold free'))
  await eventually(async () => (await send('hi')).status === 503)
  const others = await Promise.all(Array.from({ length: 200 }, () => send('hi')))
  expect(others.every(({ status }) => status === 503)).toBe(true)
  await release(directory, 'free')
  expect((await Promise.all(waiting)).filter(({ status }) => status === 200).length).toBeGreaterThan(40)
  await eventually(async () => (await send('hi')).status === 200)
})
