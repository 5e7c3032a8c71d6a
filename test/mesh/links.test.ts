import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { generateSigningKey, MeshError, MeshRefusal, signEnvelope } from '../../src/entries/mesh.ts'
import { silentLogger } from '../support/logger.ts'
import { meshPair, meshRequest, startMeshServer } from '../support/mesh/mesh-peers.ts'
import { closedPort, startHttpServer } from '../support/servers/http-server.ts'

describe('an HTTP link', () => {
  it('a request returns the result of the method, or throws its refusal', async () => {
    const { shop, price } = await meshPair({
      methods: {
        get_price: ({ symbol = null }) => ({ symbol }),
        refuse: () => {
          throw new MeshRefusal('SOLD_OUT', 'There is none left.')
        },
      },
    })
    const { endpoint } = await startMeshServer(price)
    const link = shop.link({ agentId: 'price-agent', endpoint })
    expect(await link.request('get_price', { symbol: 'TEA' })).toEqual({ symbol: 'TEA' })
    const refusal = await link.request('refuse').catch((error) => error)
    expect(refusal).toBeInstanceOf(MeshRefusal)
    expect(refusal).toMatchObject({ code: 'SOLD_OUT', message: 'There is none left.' })
    await expect(link.request('unknown')).rejects.toMatchObject({ name: 'MeshError', code: 'NOT_FOUND' })
  })

  it('a response is accepted only if it is fresh, signed by the called agent, and correlates to the request', async () => {
    const { shop, shopKey, priceKey } = await meshPair()
    const stranger = await generateSigningKey()
    const good = {
      sender_id: 'price-agent',
      recipient_id: 'shop-agent',
      message_type: 'response',
      payload: { status: 'success', data: {} },
    }
    const cases: readonly [object, typeof shopKey, string][] = [
      [{}, priceKey, 'fine'],
      [{ correlation_id: crypto.randomUUID() }, priceKey, 'it answers another message'],
      [{ sender_id: 'shop-agent' }, shopKey, 'it comes from shop-agent'],
      [{ recipient_id: 'other-agent' }, priceKey, 'it is for other-agent'],
      [{ timestamp: new Date(Date.now() - 400_000).toISOString() }, priceKey, 'older than 300 seconds'],
      [{}, stranger, 'no key with this fingerprint'],
      [{ message_type: 'handshake_ack', payload: { accepted: false } }, priceKey, 'it is a handshake_ack'],
    ]
    for (const [more, key, problem] of cases) {
      const origin = await startHttpServer(async (request, response) => {
        const asked = JSON.parse(await new Response(request as never).text())
        const answer = await signEnvelope(meshRequest({ ...good, correlation_id: asked.message_id, ...more }), key)
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
      })
      const asking = shop.link({ agentId: 'price-agent', endpoint: origin }).request('get_price')
      expect(
        await asking.then(
          () => 'fine',
          (error) => error.message,
        ),
      ).toContain(problem)
    }
  })

  it.each([
    ['no server', undefined, 'cannot be reached'],
    ['an HTML page', '<h1>Bad gateway</h1>', 'answered 502, and not with an envelope'],
    ['a plain error', '{"error":{"code":"PAYLOAD_TOO_LARGE","message":"Too long."}}', 'Too long.'],
    ['an empty body', '', 'answered 502'],
  ])('the error describes the response: %s', async (_, body, problem) => {
    const { shop } = await meshPair()
    const endpoint =
      body === undefined
        ? `http://127.0.0.1:${await closedPort()}/`
        : await startHttpServer((__, response) => response.writeHead(502).end(body))
    const failure = await shop
      .link({ agentId: 'price-agent', endpoint })
      .request('get_price')
      .catch((error) => error)
    expect(failure).toBeInstanceOf(MeshError)
    expect(failure.message).toContain(problem)
  })

  it('the error of a third agent does not reach the caller', async () => {
    const { shop, price } = await meshPair({ methods: {} })
    const { endpoint } = await startMeshServer(price)
    const failure = await shop
      .link({ agentId: 'price-agent', endpoint })
      .request('secret')
      .catch((error) => error)
    expect(failure).toMatchObject({ code: 'NOT_FOUND', peer: 'price-agent' })
    const between = await meshPair({ methods: { forward: () => Promise.reject(failure) } })
    const place = await startMeshServer(between.price)
    const link = between.shop.link({ agentId: 'price-agent', endpoint: place.endpoint })
    await expect(link.request('forward')).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
  })

  it('a response over maxBytes becomes an internal error', async () => {
    const { shop, price } = await meshPair({ maxBytes: 2_000, methods: { much: () => ({ text: 'x'.repeat(2_000) }) } })
    const { endpoint } = await startMeshServer(price)
    const link = shop.link({ agentId: 'price-agent', endpoint })
    await expect(link.request('much')).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
  })

  it.each([false, true])('the log has the text of an error of a method only if asked: %s', async (errorMessages) => {
    const logged: object[] = []
    const logger = { ...silentLogger, error: (fields: object) => void logged.push(fields) }
    const methods = {
      fail: ({ symbol = null }) => {
        throw new RangeError(`No canary: ${symbol}`)
      },
    }
    const { shop, price } = await meshPair({ methods, logger, errorMessages })
    const { endpoint } = await startMeshServer(price)
    const link = shop.link({ agentId: 'price-agent', endpoint })
    await expect(link.request('fail', { symbol: 'TEA' })).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
    const text = inspect(logged, { depth: null })
    expect(text).toContain('RangeError')
    expect(text.includes('canary')).toBe(errorMessages)
  })

  it('maxBytes counts bytes, not characters', async () => {
    const methods = { much: () => ({ text: '茶'.repeat(600) }), less: () => ({ text: 'x'.repeat(600) }) }
    const { shop, price } = await meshPair({ maxBytes: 2_000, methods })
    const { endpoint } = await startMeshServer(price)
    const link = shop.link({ agentId: 'price-agent', endpoint })
    await expect(link.request('much')).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
    expect(await link.request('less')).toEqual({ text: 'x'.repeat(600) })
  })

  it('a request ends at its timeout and when its signal aborts', async () => {
    const { shop } = await meshPair()
    const endpoint = await startHttpServer(() => {})
    const link = shop.link({ agentId: 'price-agent', endpoint, timeout: 30 })
    await expect(link.request('get_price')).rejects.toMatchObject({ code: 'TIMEOUT' })
    const leaving = AbortSignal.abort(new Error('changed my mind'))
    await expect(link.request('get_price', {}, { signal: leaving })).rejects.toThrow('changed my mind')
  })
})
