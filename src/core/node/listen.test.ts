import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import { type ListenOptions, listen } from './listen.ts'

const hello: Exchange = async () => ({ status: 200, headers: {}, body: 'hello' })

async function serve(exchange: Exchange, options: Partial<ListenOptions> = {}) {
  const listening = await listen(exchange, { port: 0, ...options })
  onTestFinished(() => listening.close({ deadline: 0 }))
  return listening
}

async function open(port: number, request = ''): Promise<Socket & { received: string }> {
  const socket = Object.assign(connect(port, '127.0.0.1').setEncoding('utf8'), { received: '' })
  onTestFinished(() => void socket.destroy())
  socket.on('data', (data) => {
    socket.received += data
  })
  await once(socket, 'connect')
  socket.write(request)
  return socket
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

test('listen returns the URL and the port', async () => {
  const { url, port } = await serve(hello)
  expect(url).toBe(`http://127.0.0.1:${port}`)
  expect(await (await fetch(url)).text()).toBe('hello')
})

test('the URL works also for hosts that a URL spells differently', async () => {
  const ipv4 = await serve(hello, { host: '0.0.0.0' })
  expect(ipv4.url).toBe(`http://localhost:${ipv4.port}`)
  const ipv6 = await serve(hello, { host: '::1' })
  expect(ipv6.url).toBe(`http://[::1]:${ipv6.port}`)
  expect(await (await fetch(ipv6.url)).text()).toBe('hello')
})

test('a port in use fails with an error that says what to do', async () => {
  const { port } = await serve(hello)
  await expect(listen(hello, { port })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use: stop the program that`)
})

test('an address of another machine fails with an error that says so', async () => {
  await expect(listen(hello, { port: 0, host: '192.0.2.1' })).rejects.toThrow('this machine does not have that address')
})

test('an incomplete request is cut off after requestTimeout', async () => {
  const { port } = await serve(
    async (incoming) => ({ status: 200, headers: {}, body: `${await incoming.bytes(10)}` }),
    {
      requestTimeout: 100,
    },
  )
  const socket = await open(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345')
  await once(socket, 'close')
  expect(socket.received).not.toMatch(/^HTTP\/1.1 200/)
})

test('closing ends idle and unused connections at once', async () => {
  const { port, close } = await serve(hello)
  const idle = await open(port, GET)
  const unused = await open(port)
  await expect.poll(() => idle.received).toMatch(/hello$/)
  const closed = Promise.all([once(idle, 'close'), once(unused, 'close')])
  expect(await timed(() => close({ deadline: 5_000 }))).toBeLessThan(1_000)
  await closed
})

test('closing lets running requests finish', async () => {
  const released = Promise.withResolvers<void>()
  const { port, close } = await serve(async () => {
    await released.promise
    return { status: 200, headers: {}, body: 'late' }
  })
  const running = await open(port, GET)
  await sleep(20)
  const closed = close({ deadline: 5_000 })
  await sleep(50)
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow()
  released.resolve()
  expect(await timed(() => closed)).toBeLessThan(1_000)
  await expect.poll(() => running.received).toMatch(/late$/)
})

test('a closing server answers one more request on an open connection', async () => {
  const released = Promise.withResolvers<void>()
  const { port, close } = await serve(async ({ path }) => {
    if (path === '/slow') await released.promise
    return { status: 200, headers: {}, body: path }
  })
  const socket = await open(port, 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
  await sleep(20)
  const closed = close({ deadline: 5_000 })
  socket.write('GET /next HTTP/1.1\r\nHost: a\r\n\r\n')
  await sleep(20)
  released.resolve()
  await closed
  await expect.poll(() => socket.received).toMatch(/\/slow.*connection: close.*\/next$/is)
})

test('closing cuts off unfinished requests at the deadline', async () => {
  const { port, close } = await serve(() => new Promise(() => {}))
  const stuck = await open(port, GET)
  await sleep(20)
  const cut = once(stuck, 'close')
  const duration = await timed(() => close({ deadline: 100 }))
  expect(duration).toBeGreaterThan(90)
  expect(duration).toBeLessThan(1_000)
  await cut
})

test('closing twice has no further effect', async () => {
  const { close } = await serve(hello)
  await Promise.all([close({ deadline: 100 }), close({ deadline: 100 })])
  await close({ deadline: 100 })
})
