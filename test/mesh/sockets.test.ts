import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { MeshLink, MeshPeer, MeshSocket } from '../../src/entries/mesh.ts'
import type { SocketLinkOptions } from '../../src/mesh/peer.ts'
import { meshPair, meshRequest, signedRequest, startMeshServer } from '../support/mesh/mesh-peers.ts'

function connect(shop: MeshPeer, url: string, more: Partial<SocketLinkOptions> = {}): MeshLink {
  const link = shop.connect({ agentId: 'price-agent', url, ...more })
  onTestFinished(() => link.close())
  return link
}

/** Timeout in milliseconds for a machine under load. */
const patient = { timeout: 10_000 }

const byPackage = (url: string): MeshSocket => new WebSocket(url)

describe.each([
  ['the global WebSocket', undefined],
  ['the package ws', byPackage],
])('one connection of %s', (_, open) => {
  it('concurrent requests share a connection, and each gets its own response', async () => {
    const { shop, price } = await meshPair()
    const { socketUrl, sockets } = await startMeshServer(price, { maxInFlight: 8 })
    const link = connect(shop, socketUrl, open && { open })
    await link.handshake()
    const symbols = Array.from({ length: 300 }, (__, at) => `S${at}`)
    const answers = await Promise.all(symbols.map((symbol) => link.request('get_price', { symbol })))
    expect(answers.map(({ symbol }) => symbol)).toEqual(symbols)
    expect(sockets.size).toBe(1)
    await link.goodbye()
    await expect.poll(() => price.sessionWith('shop-agent').state, patient).toBe('goodbye')
  })

  it('a valid trace is sent after the handshake', async () => {
    const { shop, price } = await meshPair({
      methods: { where: (_, { trace }) => ({ ...trace }) },
    })
    const { socketUrl } = await startMeshServer(price)
    const link = connect(shop, socketUrl, open && { open })
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1,b=2' }
    expect(await link.request('where', {}, { trace })).toEqual({})
    await link.handshake()
    expect(await link.request('where', {}, { trace })).toEqual(trace)
    expect(await link.request('where', {}, { trace: { traceparent: 'nonsense' } })).toEqual({})
    expect(await link.request('where', {})).toEqual({})
  })

  it('a request without a response is repeated after a reconnect and runs once', async () => {
    let calls = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    const { shop, price } = await meshPair({
      methods: { slow: () => promise.then(() => ({ calls: ++calls })), fast: () => ({}) },
    })
    const { socketUrl, sockets } = await startMeshServer(price)
    const link = connect(shop, socketUrl, open && { open })
    await link.request('fast')
    const slow = link.request('slow')
    await link.request('fast')
    for (const socket of sockets) socket.terminate()
    await expect.poll(() => sockets.size, patient).toBe(0)
    await expect.poll(() => sockets.size, patient).toBe(1)
    resolve()
    expect(await slow).toEqual({ calls: 1 })
  })
})

describe('a peer that accepts connections', () => {
  it('a peer stops reading at maxInFlight requests', async () => {
    let working = 0
    let most = 0
    const gate = Promise.withResolvers<void>()
    const { price, shopKey } = await meshPair({
      methods: {
        get_price: async () => {
          most = Math.max(most, ++working)
          await gate.promise
          working--
          return {}
        },
      },
    })
    const { socketUrl, sockets } = await startMeshServer(price, { maxInFlight: 4 })
    const socket = await opened(socketUrl)
    const texts = await Promise.all(Array.from({ length: 40 }, () => signedRequest(shopKey)))
    for (const text of texts) socket.send(text)
    await expect.poll(() => [...sockets].map(({ isPaused }) => isPaused), patient).toEqual([true])
    let answers = 0
    socket.on('message', () => answers++)
    gate.resolve()
    await expect.poll(() => answers, patient).toBe(40)
    expect(most).toBe(4)
    expect([...sockets].map(({ isPaused }) => isPaused)).toEqual([false])
  })

  it('a peer holds responses back while the other side does not read', async () => {
    const { price, shopKey } = await meshPair({ methods: { get_price: () => ({ much: 'x'.repeat(2 ** 20) }) } })
    const { socketUrl, sockets } = await startMeshServer(price, { maxInFlight: 2, maxBuffered: 2 ** 20 })
    const socket = await opened(socketUrl)
    socket.pause()
    for (let count = 0; count < 40; count++) socket.send(await signedRequest(shopKey))
    await expect.poll(() => [...sockets].map(({ isPaused }) => isPaused), patient).toEqual([true])
    const [served] = sockets
    expect(served?.bufferedAmount).toBeLessThan(8 * 2 ** 20)
    let answers = 0
    socket.on('message', () => answers++)
    socket.resume()
    await expect.poll(() => answers, patient).toBe(40)
  })

  it('a connection without pongs is closed', async () => {
    const { price } = await meshPair()
    const { socketUrl, sockets } = await startMeshServer(price, { pingInterval: 250 })
    const dead = new WebSocket(socketUrl, { autoPong: false })
    onTestFinished(() => dead.terminate())
    await once(dead, 'open')
    const alive = await opened(socketUrl)
    await expect.poll(() => dead.readyState, patient).toBe(WebSocket.CLOSED)
    expect(alive.readyState).toBe(WebSocket.OPEN)
    expect(sockets.size).toBe(1)
  })

  it('garbage gets a plain error, and binary or oversized messages close the connection', async () => {
    const { price } = await meshPair({ maxBytes: 1000 })
    const { socketUrl } = await startMeshServer(price)
    const socket = await opened(socketUrl)
    socket.send('nonsense')
    expect(JSON.parse(await nextText(socket))).toMatchObject({ error: { code: 'INVALID_MESSAGE' } })
    socket.send('x'.repeat(2000))
    const closed = once(socket, 'close')
    expect(JSON.parse(await nextText(socket))).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } })
    expect((await closed)[0]).toBe(1009)
    const other = await opened(socketUrl)
    other.send(Buffer.from('{}'))
    expect((await once(other, 'close'))[0]).toBe(1003)
  })

  it('a peer does not respond to responses', async () => {
    const { price, shopKey } = await meshPair()
    const { socketUrl } = await startMeshServer(price)
    const socket = await opened(socketUrl)
    const payload = { status: 'success', data: {} }
    const response = { message_type: 'response', correlation_id: crypto.randomUUID(), payload }
    socket.send(await signedRequest(shopKey, response))
    socket.send(JSON.stringify(meshRequest({ message_type: 'error' })))
    const request = JSON.parse(await signedRequest(shopKey))
    socket.send(JSON.stringify(request))
    expect(JSON.parse(await nextText(socket))).toMatchObject({ correlation_id: request.message_id })
  })
})

describe('a WebSocket link', () => {
  it('the other side can send requests over the link', async () => {
    const { shop, price, priceKey } = await meshPair({}, { methods: { how_many: () => ({ count: 3 }) } })
    const { socketUrl, sockets } = await startMeshServer(price)
    const link = connect(shop, socketUrl)
    await link.request('get_price')
    const [served] = sockets
    if (!served) throw new Error('no socket is connected')
    const asked = { sender_id: 'price-agent', recipient_id: 'shop-agent', payload: { method: 'how_many' } }
    served.send(await signedRequest(priceKey, asked))
    expect(JSON.parse(await nextText(served))).toMatchObject({ payload: { data: { count: 3 } } })
  })

  it('a request to an unreachable peer times out', async () => {
    const { shop } = await meshPair()
    const link = connect(shop, 'ws://127.0.0.1:9/', { timeout: 200 })
    await expect(link.request('get_price')).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('closing the link rejects pending requests', async () => {
    const { shop, price } = await meshPair({ methods: { get_price: () => new Promise(() => {}) } })
    const { socketUrl } = await startMeshServer(price)
    const link = connect(shop, socketUrl)
    const asking = link.request('get_price')
    setTimeout(() => link.close(), 50)
    await expect(asking).rejects.toThrow('The connection was closed.')
    await expect(link.request('get_price')).rejects.toThrow('The connection was closed.')
  })
})

async function opened(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url)
  onTestFinished(() => socket.terminate())
  await once(socket, 'open')
  return socket
}

async function nextText(socket: WebSocket): Promise<string> {
  const [data] = await once(socket, 'message')
  return String(data)
}
