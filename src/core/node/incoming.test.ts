import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { ReadableStream } from 'node:stream/web'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import { listen } from './listen.ts'

const limit = 100_000

const returnLength: Exchange = async (incoming) => {
  const { length } = await incoming.bytes(limit)
  return { status: 200, headers: {}, body: `${length}` }
}

async function serve(exchange: Exchange, onError?: (error: unknown) => void): Promise<number> {
  const { port, close } = await listen(exchange, { port: 0, ...(onError && { onError }) })
  onTestFinished(() => close({ deadline: 0 }))
  return port
}

/** Sends the head of a request and leaves the connection open for its body. */
async function startRequest(port: number, header: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`)
  return socket
}

function post(port: number, body: string | ReadableStream): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, duplex: 'half' } as RequestInit)
}

function chunked(length: number): ReadableStream {
  return ReadableStream.from([new Uint8Array(length - 1), new Uint8Array(1)])
}

test('a body of exactly the limit is accepted', async () => {
  const port = await serve(returnLength)
  expect(await (await post(port, 'x'.repeat(limit))).text()).toBe(`${limit}`)
  expect(await (await post(port, chunked(limit))).text()).toBe(`${limit}`)
})

test('a longer body is rejected, whether its length is declared or not', async () => {
  const port = await serve(returnLength)
  for (const body of ['x'.repeat(limit + 1), chunked(limit + 1)]) {
    const response = await post(port, body)
    expect(response.status).toBe(413)
    expect(await response.json()).toEqual({ error: 'the body is longer than 100000 bytes' })
  }
})

test('a declared length above the limit is rejected before the body arrives', async () => {
  const socket = await startRequest(await serve(returnLength), `Content-Length: ${limit + 1}`)
  const [answer] = await once(socket, 'data')
  expect(answer).toMatch(/^HTTP\/1.1 413 .*connection: close\r\n/s)
})

test('an endless body is rejected as soon as it is too long', async () => {
  const socket = await startRequest(await serve(returnLength), 'Transfer-Encoding: chunked')
  socket.write(`${(limit + 1).toString(16)}\r\n${'x'.repeat(limit + 1)}\r\n`)
  const [answer] = await once(socket, 'data')
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
})

test('a caller that sends everything before it reads still gets its response', async () => {
  const refuse: Exchange = async () => ({ status: 404, headers: {}, body: 'no such page' })
  for (const exchange of [returnLength, refuse]) {
    const length = 20_000_000
    const socket = await startRequest(await serve(exchange), `Content-Length: ${length}`)
    await new Promise((resolve) => socket.write('x'.repeat(length), resolve))
    expect(await text(socket)).toMatch(/^HTTP\/1.1 4/)
  }
})

test('a caller that never stops sending is cut off', async () => {
  const socket = await startRequest(await serve(returnLength), 'Transfer-Encoding: chunked')
  const sending = setInterval(() => socket.write(`${limit.toString(16)}\r\n${'x'.repeat(limit)}\r\n`), 5)
  onTestFinished(() => clearInterval(sending))
  socket.on('error', () => {})
  let answer = ''
  socket.on('data', (data) => {
    answer += data
  })
  await once(socket, 'close')
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
})

test('a caller that disconnects within its body ends the reading and is not reported as an error', async () => {
  const reported: unknown[] = []
  const failures: unknown[] = []
  const exchange: Exchange = async (incoming) => {
    await incoming.bytes(limit).catch((error) => {
      failures.push(error)
      throw error
    })
    return { status: 200, headers: {} }
  }
  const socket = await startRequest(await serve(exchange, (error) => reported.push(error)), 'Content-Length: 10')
  socket.write('12345')
  await sleep(20)
  socket.destroy()
  await expect.poll(() => failures).toHaveLength(1)
  await sleep(20)
  expect(reported).toEqual([])
})

test('reading a body after the caller has disconnected fails instead of waiting forever', async () => {
  const failures: unknown[] = []
  const exchange: Exchange = async (incoming) => {
    await once(incoming.signal, 'abort')
    await incoming.bytes(limit).catch((error) => failures.push(error))
    return { status: 200, headers: {} }
  }
  const socket = await startRequest(await serve(exchange), 'Content-Length: 10')
  await sleep(20)
  socket.destroy()
  await expect.poll(() => failures).toHaveLength(1)
})
