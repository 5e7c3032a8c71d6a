import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { converse } from '../support/raw.ts'
import { type ServedOptions, served } from '../support/served.ts'

/** Both kinds of port: that of HTTP/1.1, and the one that first looks at what is spoken. */
const ports = [
  ['HTTP/1.1', false],
  ['HTTP/1.1, HTTP/2 and gRPC', true],
] as const

const call = (text: string) =>
  JSON.stringify({
    ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage' },
    params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] } },
  })
const body = call('meant')
const size = body.length.toString(16)
const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n'
/** A second request, hidden in the first. */
const hidden = `${head}Content-Length: ${call('hidden').length}\r\n\r\n${call('hidden')}`
const chunked = `${size}\r\n${body}\r\n0\r\n\r\n`

async function open(grpc: boolean, options: ServedOptions = {}) {
  const heard: string[] = []
  const errors: unknown[] = []
  const { server, wire } = await served(
    async ({ text }) => {
      heard.push(text)
      return 'hi'
    },
    { grpc, onError: (error) => errors.push(error), ...options },
  )
  return {
    server,
    heard,
    /** Whatever was tried: the next caller is served, and nobody had to be told of it. */
    async stands() {
      expect((await wire.send('still there?')).message?.parts).toEqual([{ text: 'hi' }])
      expect(errors).toEqual([])
    },
  }
}

/** A connection on which is written and nothing read, unless said. */
function dial(port: number, bytes = ''): Socket & { received: string } {
  const socket = Object.assign(connect(port, '127.0.0.1').setEncoding('latin1'), { received: '' })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(bytes)
  return socket
}

describe.each(ports)('a port of %s', (_name, grpc) => {
  const smuggled: readonly (readonly [string, number, string])[] = [
    ['a length and chunks', 400, `${head}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`],
    ['chunks and a length', 400, `${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunked}${hidden}`],
    ['two lengths', 400, `${head}Content-Length: ${body.length}\r\nContent-Length: 5\r\n\r\n${body}${hidden}`],
    ['the same length twice', 400, `${head}${`Content-Length: ${body.length}\r\n`.repeat(2)}\r\n${body}`],
    ['a list of lengths', 400, `${head}Content-Length: ${body.length}, 5\r\n\r\n${body}${hidden}`],
    ['a length with a sign', 400, `${head}Content-Length: +${body.length}\r\n\r\n${body}`],
    ['chunks that are none', 400, `${head}Transfer-Encoding: xchunked\r\n\r\n${chunked}`],
    ['chunks of something', 501, `${head}Transfer-Encoding: gzip, chunked\r\n\r\n${chunked}`],
    ['chunks that are not last', 400, `${head}Transfer-Encoding: chunked, identity\r\n\r\n${chunked}`],
    ['chunks twice', 400, `${head}${'Transfer-Encoding: chunked\r\n'.repeat(2)}\r\n${chunked}`],
    ['chunks behind a tab', 400, `${head}Transfer-Encoding: \u000bchunked\r\n\r\n${chunked}`],
    ['a space before the colon', 400, `${head}Transfer-Encoding : chunked\r\n\r\n${chunked}`],
    ['a folded coding', 400, `${head}Transfer-Encoding:\r\n chunked\r\n\r\n${chunked}`],
    ['a folded header', 400, `${head}X-A: b\r\n c\r\nContent-Length: ${body.length}\r\n\r\n${body}`],
    ['chunks in HTTP/1.0', 400, `${head.replace('1.1', '1.0')}Transfer-Encoding: chunked\r\n\r\n${chunked}`],
    ['bare line feeds', 400, `${head}Content-Length: ${body.length}\r\n\r\n`.replaceAll('\r\n', '\n') + body],
    ['one bare line feed', 400, `${head}X-A: b\nContent-Length: ${body.length}\r\n\r\n${body}`],
    ['a bare carriage return', 400, `${head}X-A: b\rContent-Length: 0\r\nContent-Length: 9\r\n\r\n${body}`],
    ['a null in a header', 400, `${head}X-A: b\0\r\nContent-Length: ${body.length}\r\n\r\n${body}`],
    ['a chunk with a prefix', 400, `${head}Transfer-Encoding: chunked\r\n\r\n0x${chunked}`],
    ['a chunk of a giant length', 400, `${head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${body}`],
    ['a chunk that is longer than it says', 400, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello!!!\r\n0\r\n\r\n`],
    ['a chunk after a bare line feed', 400, `${head}Transfer-Encoding: chunked\r\n\r\n${chunked.replace('\r', '')}`],
    [
      'an extension with a line feed',
      400,
      `${head}Transfer-Encoding: chunked\r\n\r\n${size};a\nb\r\n${body}\r\n0\r\n\r\n`,
    ],
    ['an extension without an end', 413, `${head}Transfer-Encoding: chunked\r\n\r\n${size};${'a'.repeat(20_000)}`],
    [
      'a length in a trailer',
      400,
      `${head}Transfer-Encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\nContent-Length: 5\r\n\r\n`,
    ],
    [
      'a giant trailer',
      431,
      `${head}Transfer-Encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
    ],
    ['no host', 400, 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['two hosts', 400, 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['a second host far behind', 400, `GET /healthz HTTP/1.1\r\nHost: a\r\n${'a:\r\n'.repeat(2_500)}Host: b\r\n\r\n`],
    ['another version', 505, 'GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n'],
    ['a version of the future', 400, 'GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n'],
  ]

  it.each(smuggled)('refuses %s, and hears nothing of it', async (_what, status, text) => {
    const { server, heard, stands } = await open(grpc)
    const answer = await converse(server.port, [Buffer.from(text, 'latin1')])
    expect(answer.status).toBe(status)
    expect(answer.head).toContain('connection: close')
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: status } })
    expect(heard).toEqual([])
    await stands()
  })

  it('does not take the body of a GET for a request', async () => {
    const { server, heard, stands } = await open(grpc)
    const text = `GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`
    expect((await converse(server.port, [text])).status).toBe(200)
    await stands()
    expect(heard).toEqual(['still there?'])
  })

  it('believes the host of an absolute target and not of the header, and no host that is none', async () => {
    const { server, stands } = await open(grpc)
    const urlFor = async (target: string, host: string) => {
      const { body: card } = await converse(server.port, [`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`])
      return JSON.parse(card).url
    }
    const path = '/.well-known/agent-card.json'
    expect(await urlFor(`http://named.test:99${path}`, 'x')).toBe('http://named.test:99/')
    expect(await urlFor(`http://user:pw@named.test${path}`, 'x')).toBe('http://localhost/')
    for (const host of ['a"><script>', 'a/b', 'a b', 'a@b', '', 'x'.repeat(300)]) {
      expect(await urlFor(path, host)).toBe('http://localhost/')
    }
    await stands()
  })

  it('sees all headers of a request that has thousands, and refuses more than fit', async () => {
    const { server, stands } = await open(grpc)
    const many = (count: number) => `GET /healthz HTTP/1.1\r\nHost: x\r\n${'a:\r\n'.repeat(count)}\r\n`
    expect((await converse(server.port, [many(3_500)])).status).toBe(200)
    expect((await converse(server.port, [many(20_000)])).status).toBe(431)
    expect((await converse(server.port, [`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`])).status).toBe(431)
    await stands()
  })

  it('refuses a compressed body before it reads it', async () => {
    const { server, heard, stands } = await open(grpc)
    const bomb = gzipSync(Buffer.alloc(50 * 2 ** 20, ' '))
    for (const coding of ['gzip', 'br', 'deflate, gzip', 'x-own']) {
      const announced = `${head}Content-Encoding: ${coding}\r\nContent-Length: ${bomb.length}\r\n\r\n`
      const answer = await converse(server.port, [announced])
      expect(answer.status).toBe(415)
      expect(JSON.parse(answer.body).error.message).toContain('without Content-Encoding')
    }
    const rest = await fetch(`${server.url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'a2a-version': '1.0' },
      body: bomb,
    })
    // A2A 1.0 says it by another number there.
    expect(rest.status).toBe(400)
    expect(await rest.text()).toContain('CONTENT_TYPE_NOT_SUPPORTED')
    expect(heard).toEqual([])
    await stands()
  })

  const slow: readonly (readonly [string, string])[] = [
    ['says nothing', ''],
    ['says half a method', 'PO'],
    ['does not end its headers', 'POST / HTTP/1.1\r\nHost: x\r\nX-'],
    ['does not end its body', `${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`],
    ['does not end a chunk', `${head}Transfer-Encoding: chunked\r\n\r\n${size}\r\n${body.slice(0, 20)}`],
  ]

  it.each(slow)('lets nobody wait who %s', async (_what, text) => {
    const { server, heard, stands } = await open(grpc, { requestTimeout: 300 })
    const begun = performance.now()
    const answer = await converse(server.port, [text])
    expect(performance.now() - begun).toBeLessThan(5_000)
    // Who has not shown what it speaks cannot be answered in it.
    if (answer.head !== '') expect(answer.status).toBe(408)
    expect(heard).toEqual([])
    await stands()
  })

  it('lets nobody wait who sends a byte now and then', async () => {
    const { server, stands } = await open(grpc, { requestTimeout: 300 })
    for (const begin of ['POST / HTTP/1.1\r\nHost: x\r\nX-', `${head}Content-Length: 1000\r\n\r\n`]) {
      const socket = dial(server.port, begin)
      const dripping = setInterval(() => socket.write('a'), 20)
      const begun = performance.now()
      await new Promise((resolve) => socket.resume().once('close', resolve))
      clearInterval(dripping)
      expect(performance.now() - begun).toBeLessThan(5_000)
    }
    await stands()
  })

  it('cuts off who does not read its answer, and only those', async () => {
    const { server, stands } = await open(grpc, { unreadTimeout: 300, bodyLimit: 2 ** 26 })
    const long = { jsonrpc: '2.0', id: 'x', method: 'x'.repeat(2 ** 24) }
    const asked = JSON.stringify(long)
    const deaf = dial(server.port, `${head}Content-Length: ${asked.length}\r\n\r\n${asked}`)
    expect(await isClosed(deaf)).toBe(true)
    await stands()
  })

  it('has so many connections open at once, and no more', async () => {
    const { server, stands } = await open(grpc, { overload: { connections: 20 } })
    const held = Array.from({ length: 20 }, () => dial(server.port, 'GET'))
    await Promise.all(held.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
    await expect.poll(async () => (await converse(server.port, ['GET'])).head).toBe('')
    expect(held.every(({ destroyed }) => !destroyed)).toBe(true)
    for (const socket of held) socket.destroy()
    await expect
      .poll(() =>
        fetch(`${server.url}/healthz`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200)
    await stands()
  })
})

/** Without reading: what was sent is noticed only by writing. */
function isClosed(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = setInterval(() => socket.write(' '), 50)
    const end = setTimeout(() => finish(false), 10_000)
    const finish = (is: boolean): void => {
      clearInterval(probe)
      clearTimeout(end)
      resolve(is)
    }
    socket.once('error', () => finish(true)).once('close', () => finish(true))
  })
}
