import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { ReadableStream } from 'node:stream/web'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import { listen } from './listen.ts'

const LIMIT = 100_000

const measure: Exchange = async (incoming) => {
  const { length } = await incoming.bytes(LIMIT)
  return { status: 200, headers: {}, body: `${length}` }
}

async function serve(exchange: Exchange, onError?: (error: unknown) => void): Promise<number> {
  const { port, close } = await listen(exchange, { port: 0, ...(onError && { onError }) })
  onTestFinished(() => close({ deadline: 0 }))
  return port
}

/** Begins a request, and leaves it open for its body. */
async function begin(port: number, header: string): Promise<Socket> {
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

test('a body of the length of the limit passes', async () => {
  const port = await serve(measure)
  expect(await (await post(port, 'x'.repeat(LIMIT))).text()).toBe(`${LIMIT}`)
  expect(await (await post(port, chunked(LIMIT))).text()).toBe(`${LIMIT}`)
})

test('a longer body is refused, whether its length is declared or not', async () => {
  const port = await serve(measure)
  for (const body of ['x'.repeat(LIMIT + 1), chunked(LIMIT + 1)]) {
    const response = await post(port, body)
    expect(response.status).toBe(413)
    expect(await response.json()).toEqual({ error: 'the body is longer than 100000 bytes' })
  }
})

test('a declared length is believed before the body comes', async () => {
  const socket = await begin(await serve(measure), `Content-Length: ${LIMIT + 1}`)
  const [answer] = await once(socket, 'data')
  expect(answer).toMatch(/^HTTP\/1.1 413 .*connection: close\r\n/s)
})

test('a body without end is answered as soon as it is too long', async () => {
  const socket = await begin(await serve(measure), 'Transfer-Encoding: chunked')
  socket.write(`${(LIMIT + 1).toString(16)}\r\n${'x'.repeat(LIMIT + 1)}\r\n`)
  const [answer] = await once(socket, 'data')
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
})

test('a caller that sends everything before it reads still gets its answer', async () => {
  const refuse: Exchange = async () => ({ status: 404, headers: {}, body: 'no such page' })
  for (const exchange of [measure, refuse]) {
    const length = 20_000_000
    const socket = await begin(await serve(exchange), `Content-Length: ${length}`)
    await new Promise((resolve) => socket.write('x'.repeat(length), resolve))
    expect(await text(socket)).toMatch(/^HTTP\/1.1 4/)
  }
})

test('a caller that never stops sending is cut off', async () => {
  const socket = await begin(await serve(measure), 'Transfer-Encoding: chunked')
  const sending = setInterval(() => socket.write(`${LIMIT.toString(16)}\r\n${'x'.repeat(LIMIT)}\r\n`), 5)
  onTestFinished(() => clearInterval(sending))
  socket.on('error', () => {})
  let answer = ''
  socket.on('data', (data) => {
    answer += data
  })
  await once(socket, 'close')
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
})

test('a caller that leaves amid its body ends the reading, and is no bug', async () => {
  const reported: unknown[] = []
  const failures: unknown[] = []
  const exchange: Exchange = async (incoming) => {
    await incoming.bytes(LIMIT).catch((error) => {
      failures.push(error)
      throw error
    })
    return { status: 200, headers: {} }
  }
  const socket = await begin(await serve(exchange, (error) => reported.push(error)), 'Content-Length: 10')
  socket.write('12345')
  await sleep(20)
  socket.destroy()
  await expect.poll(() => failures).toHaveLength(1)
  await sleep(20)
  expect(reported).toEqual([])
})

test('a body that is asked for after the caller has left is an error, not a wait without end', async () => {
  const failures: unknown[] = []
  const exchange: Exchange = async (incoming) => {
    await once(incoming.signal, 'abort')
    await incoming.bytes(LIMIT).catch((error) => failures.push(error))
    return { status: 200, headers: {} }
  }
  const socket = await begin(await serve(exchange), 'Content-Length: 10')
  await sleep(20)
  socket.destroy()
  await expect.poll(() => failures).toHaveLength(1)
})
