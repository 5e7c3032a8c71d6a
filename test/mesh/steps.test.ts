import canonicalize from 'canonicalize'
import { describe, expect, it } from 'vitest'
import { createRateLimit, generateSigningKey, MeshError, MeshRefusal, signEnvelope } from '../../src/entries/mesh.ts'
import { meshPair, meshRequest, post, signedRequest, startMeshServer } from '../support/mesh/mesh-peers.ts'

const minutes = (count: number) => new Date(Date.now() + count * 60_000).toISOString()

describe('a posted message', () => {
  it('a request gets a signed, correlated response', async () => {
    const { price, shopKey } = await meshPair()
    const { endpoint } = await startMeshServer(price)
    const { status, body } = await post(endpoint, await signedRequest(shopKey))
    expect(status).toBe(200)
    expect(body).toMatchObject({
      message_type: 'response',
      sender_id: 'price-agent',
      recipient_id: 'shop-agent',
      payload: { status: 'success', data: { symbol: 'TEA', price: 4.25 } },
      auth: { agent_id: 'price-agent' },
    })
  })

  it('a message is rejected with the code and status of the failing step', async () => {
    const { price, shopKey } = await meshPair({
      maxBytes: 4096,
      authorize: ({ envelope }) => JSON.stringify(envelope.payload) !== '{"method":"forbidden"}',
      allows: (method) => method !== 'secret',
      methods: { secret: () => ({}), broken: () => Promise.reject(new Error('a secret')) },
    })
    const { endpoint } = await startMeshServer(price)
    const stranger = await generateSigningKey()
    const signed = (more: object = {}) => signedRequest(shopKey, more as Record<string, unknown>)
    const tampered = (await signed()).replace('get_price', 'get_prize')
    const cases: readonly [string, string, number, string, string?][] = [
      [
        'too long',
        await signed({ payload: { method: 'm', parameters: { x: 'x'.repeat(5000) } } }),
        413,
        'PAYLOAD_TOO_LARGE',
      ],
      ['invalid JSON', '{"message_id":', 400, 'INVALID_MESSAGE'],
      ['a duplicate key', '{"message_id":"1","message_id":"1"}', 400, 'INVALID_MESSAGE'],
      ['nested deeply', `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, 400, 'INVALID_MESSAGE'],
      ['not an object', '[]', 400, 'INVALID_MESSAGE'],
      ['not an envelope', '{"jsonrpc":"2.0","method":"message/send","id":1}', 400, 'INVALID_MESSAGE'],
      ['a bad id', await signed({ message_id: 'c9h0f1g4-5d4a-4f6b-9a7c-0e1d2c3b4a59' }), 400, 'VALIDATION_FAILED'],
      ['an unknown type', await signed({ message_type: 'shout' }), 400, 'VALIDATION_FAILED'],
      ['an unknown member', await signed({ priority: 1 }), 400, 'VALIDATION_FAILED'],
      ['a correlation', await signed({ correlation_id: crypto.randomUUID() }), 400, 'VALIDATION_FAILED'],
      ['an invalid date', await signed({ timestamp: '2026-02-30T00:00:00Z' }), 400, 'VALIDATION_FAILED'],
      ['too old', await signed({ timestamp: minutes(-6) }), 400, 'VALIDATION_FAILED', 'STALE'],
      ['from the future', await signed({ timestamp: minutes(2) }), 400, 'VALIDATION_FAILED', 'FUTURE'],
      ['for another agent', await signed({ recipient_id: 'other-agent' }), 404, 'NOT_FOUND'],
      ['unsigned', JSON.stringify(meshRequest()), 401, 'AUTHENTICATION_FAILED', 'MISSING'],
      ['changed', tampered, 401, 'AUTHENTICATION_FAILED', 'BAD_SIGNATURE'],
      ['signed with an unknown key', await signedRequest(stranger), 401, 'AUTHENTICATION_FAILED', 'UNKNOWN_KEY'],
      ['an unknown sender', await signed({ sender_id: 'unknown-agent' }), 401, 'AUTHENTICATION_FAILED', 'UNKNOWN_KEY'],
      ['forbidden', await signed({ payload: { method: 'forbidden' } }), 403, 'FORBIDDEN'],
      ['an unknown method', await signed({ payload: { method: 'toString' } }), 404, 'NOT_FOUND'],
      ['a disallowed method', await signed({ payload: { method: 'secret' } }), 405, 'METHOD_NOT_ALLOWED'],
      ['a method that throws', await signed({ payload: { method: 'broken' } }), 500, 'INTERNAL_ERROR'],
    ]
    for (const [title, body, status, code, reason] of cases) {
      const answer = await post(endpoint, body)
      const error = answer.body.payload?.error ?? (answer.body as { error?: Record<string, unknown> }).error
      expect({ title, status: answer.status, error }).toEqual({
        title,
        status,
        error: expect.objectContaining({ code, ...(reason && { details: expect.objectContaining({ reason }) }) }),
      })
      expect(answer.text).not.toContain('a secret')
    }
  })

  it('a message with several faults is rejected for the first one', async () => {
    const { price } = await meshPair({ rateLimit: { take: () => 1 } })
    const { endpoint } = await startMeshServer(price)
    const stale = { timestamp: minutes(-60) }
    const steps = [
      { ...meshRequest({ ...stale, recipient_id: 'x-y', extra: 1 }) },
      { ...meshRequest({ ...stale, recipient_id: 'x-y' }) },
      { ...meshRequest({ recipient_id: 'x-y' }) },
      { ...meshRequest() },
    ]
    const answers = await Promise.all(steps.map((step) => post(endpoint, JSON.stringify(step))))
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 404, 401])
    expect(answers[0]?.body.payload?.error).toMatchObject({ details: { field: '' } })
    expect(answers[1]?.body.payload?.error).toMatchObject({ details: { reason: 'STALE' } })
  })

  it('the ten steps are checked in order', async () => {
    let mayDo = false
    let wait = 1
    const { price, shopKey } = await meshPair({
      maxBytes: 2_000,
      authorize: () => mayDo,
      rateLimit: { take: () => wait },
      allows: (method) => method !== 'secret',
      methods: { secret: () => ({}), get_price: () => ({}) },
    })
    const { endpoint } = await startMeshServer(price)
    const stranger = await generateSigningKey()
    const said = async (text: string) => {
      const { status, body } = await post(endpoint, text)
      const { code, details } = body.payload?.error ?? Object(body).error ?? {}
      return [status, code, ...(details?.reason ? [details.reason] : [])].join(' ')
    }
    const late = { timestamp: minutes(-60) }
    const elsewhere = { recipient_id: 'x-y' }
    const unknown = { payload: { method: 'unknown' } }
    const once = { message_id: crypto.randomUUID() }
    const faulty = JSON.stringify(meshRequest({ ...late, ...elsewhere, ...unknown, ...once, extra: 1 }))
    expect(await said(`{"a":1,${' '.repeat(2_000)}`)).toBe('413 PAYLOAD_TOO_LARGE')
    expect(await said(faulty.replace('{', '{"extra":2,'))).toBe('400 INVALID_MESSAGE')
    expect(await said(faulty)).toBe('400 VALIDATION_FAILED')
    expect(await said(JSON.stringify(meshRequest({ ...late, ...elsewhere, ...unknown, ...once })))).toBe(
      '400 VALIDATION_FAILED STALE',
    )
    expect(await said(JSON.stringify(meshRequest({ ...elsewhere, ...unknown, ...once })))).toBe('404 NOT_FOUND')
    mayDo = true
    wait = 0
    expect((await post(endpoint, await signedRequest(shopKey, once))).status).toBe(200)
    mayDo = false
    wait = 1
    // From here on the message id has been seen.
    expect(await said(await signedRequest(stranger, { ...unknown, ...once }))).toBe(
      '401 AUTHENTICATION_FAILED UNKNOWN_KEY',
    )
    expect(await said(await signedRequest(shopKey, { ...unknown, ...once }))).toBe('401 AUTHENTICATION_FAILED REPLAY')
    expect(await said(await signedRequest(shopKey, unknown))).toBe('403 FORBIDDEN')
    mayDo = true
    expect(await said(await signedRequest(shopKey, unknown))).toBe('429 RATE_LIMIT_EXCEEDED')
    wait = 0
    expect(await said(await signedRequest(shopKey, unknown))).toBe('404 NOT_FOUND')
    expect(await said(await signedRequest(shopKey, { payload: { method: 'secret' } }))).toBe('405 METHOD_NOT_ALLOWED')
  })

  it('a signature must match the sender, the timestamp and the fingerprint', async () => {
    const { price, shopKey } = await meshPair()
    const { endpoint } = await startMeshServer(price)
    const withAuth = async (more: object) => {
      const { auth, ...rest } = await signEnvelope(meshRequest(), shopKey)
      const { signature: _, ...tag } = { ...Object(auth), ...more }
      const bytes = new TextEncoder().encode(canonicalize({ ...rest, auth: tag }))
      const signature = Buffer.from(await shopKey.sign(bytes)).toString('base64')
      const { status, body } = await post(endpoint, JSON.stringify({ ...rest, auth: { ...tag, signature } }))
      return [status, body.payload?.error?.details].flatMap((each) => (each === undefined ? [] : [each]))
    }
    const other = `sha256:${'0'.repeat(64)}`
    expect(await withAuth({})).toEqual([200])
    expect(await withAuth({ public_key_fingerprint: shopKey.fingerprint.slice(0, 23) })).toEqual([200])
    expect(await withAuth({ agent_id: 'price-agent' })).toEqual([401, { reason: 'AGENT_MISMATCH' }])
    expect(await withAuth({ timestamp: minutes(-2) })).toEqual([401, { reason: 'TIMESTAMP_MISMATCH' }])
    expect(await withAuth({ timestamp: minutes(-10) })).toMatchObject([401, { reason: 'STALE' }])
    expect(await withAuth({ public_key_fingerprint: other })).toEqual([401, { reason: 'UNKNOWN_KEY' }])
  })

  it('both ends of the freshness window are inclusive', async () => {
    const now = Date.parse('2026-03-01T12:00:00.000Z')
    const { price, shopKey } = await meshPair({ now: () => now })
    const { endpoint } = await startMeshServer(price)
    const at = async (offset: number) =>
      (await post(endpoint, await signedRequest(shopKey, { timestamp: new Date(now + offset).toISOString() }))).status
    expect([await at(-300_000), await at(60_000), await at(-300_001), await at(60_001)]).toEqual([200, 200, 400, 400])
  })

  it('a message is remembered for as long as it is fresh, even if it is dated ahead', async () => {
    let now = Date.parse('2026-03-01T12:00:00.000Z')
    let calls = 0
    const { price, shopKey } = await meshPair({ now: () => now, methods: { get_price: () => ({ calls: ++calls }) } })
    const { endpoint } = await startMeshServer(price)
    const request = await signedRequest(shopKey, { timestamp: new Date(now + 60_000).toISOString() })
    const first = await post(endpoint, request)
    now += 360_000
    expect(await post(endpoint, request)).toMatchObject({ status: 200, text: first.text })
    expect(calls).toBe(1)
  })

  it('an error is an envelope if the id and sender are readable, and plain JSON otherwise', async () => {
    const { price } = await meshPair()
    const { endpoint } = await startMeshServer(price)
    const readable = meshRequest({ payload: {} })
    expect((await post(endpoint, JSON.stringify(readable))).body).toMatchObject({
      message_type: 'error',
      correlation_id: readable.message_id,
      recipient_id: 'shop-agent',
    })
    const plain = await post(endpoint, JSON.stringify(meshRequest({ message_id: 'x' })))
    expect(plain.body).toEqual({
      error: { code: 'VALIDATION_FAILED', message: expect.any(String), details: { field: 'message_id' } },
    })
  })

  it.each(['error', 'goodbye', 'response', 'handshake_ack', 'agent_announcement'])(
    'an invalid message of type %s gets no error envelope',
    async (message_type) => {
      const { price } = await meshPair()
      const { endpoint } = await startMeshServer(price)
      const answer = await post(endpoint, JSON.stringify(meshRequest({ message_type })))
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 400, text: '' })
    },
  )

  it('a repeated message runs once and gets the same response, and another signature is a replay', async () => {
    let calls = 0
    const { price, shopKey } = await meshPair({ methods: { count: async () => ({ calls: ++calls }) } })
    const { endpoint } = await startMeshServer(price)
    const envelope = await signEnvelope(meshRequest({ payload: { method: 'count' } }), shopKey)
    const together = await Promise.all([1, 2, 3].map(() => post(endpoint, JSON.stringify(envelope))))
    const again = await post(endpoint, JSON.stringify(envelope))
    expect(calls).toBe(1)
    expect(new Set([...together, again].map(({ text }) => text)).size).toBe(1)
    const { auth: _, ...rest } = envelope
    const otherNonce = await post(endpoint, JSON.stringify(await signEnvelope(rest as typeof envelope, shopKey)))
    expect(otherNonce.status).toBe(401)
    expect(otherNonce.body.payload?.error).toMatchObject({ details: { reason: 'REPLAY' } })
    expect(calls).toBe(1)
  })

  it('a repeated message gets the same error with its retry time, and a repeated goodbye the same status', async () => {
    let calls = 0
    const busy = () => {
      calls++
      throw new MeshError('SERVICE_UNAVAILABLE', 'Busy: line 1\nline 2', { retryAfter: 7 })
    }
    const { price, shopKey } = await meshPair({ methods: { get_price: busy } })
    const { endpoint } = await startMeshServer(price)
    const request = await signedRequest(shopKey)
    const [first, second] = [await post(endpoint, request), await post(endpoint, request)]
    expect([first.status, first.headers.get('retry-after')]).toEqual([503, '7'])
    expect([second.status, second.headers.get('retry-after'), second.text]).toEqual([503, '7', first.text])
    expect(calls).toBe(1)
    const goodbye = await signedRequest(shopKey, { message_type: 'goodbye', payload: {} })
    for (const answer of [await post(endpoint, goodbye), await post(endpoint, goodbye)]) {
      expect([answer.status, answer.headers.get('retry-after'), answer.text]).toEqual([202, null, ''])
    }
  })

  it('a rate-limited message gets a retry time in body and header, and may be repeated unchanged', async () => {
    let now = Date.now()
    const { price, shopKey } = await meshPair({
      rateLimit: createRateLimit({ limit: 1, window: 2, now: () => now }),
      documentationUrl: (code) => `https://example.com/errors#${code}`,
    })
    const { endpoint } = await startMeshServer(price)
    await post(endpoint, await signedRequest(shopKey))
    const late = await signedRequest(shopKey)
    const refused = await post(endpoint, late)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(refused.body.payload?.error).toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      retry_after: 2,
      details: { limit: 1, window: '2 seconds', reset_at: expect.stringMatching(/^20.*Z$/) },
      documentation_url: 'https://example.com/errors#RATE_LIMIT_EXCEEDED',
    })
    now += 2_000
    expect((await post(endpoint, late)).status).toBe(200)
  })

  it('the refusal of a method is a response with status 200', async () => {
    const refuse = () => {
      throw new MeshRefusal('INVALID_CURRENCY', 'There is no currency XXY.', { known: ['EUR'] })
    }
    const { price, shopKey } = await meshPair({ methods: { get_price: refuse } })
    const { endpoint } = await startMeshServer(price)
    const { status, body } = await post(endpoint, await signedRequest(shopKey))
    expect(status).toBe(200)
    expect(body).toMatchObject({
      message_type: 'response',
      payload: {
        status: 'error',
        error: { code: 'INVALID_CURRENCY', message: 'There is no currency XXY.', details: { known: ['EUR'] } },
      },
    })
  })

  it('a slow method is aborted and the caller gets TIMEOUT', async () => {
    const aborted = Promise.withResolvers<void>()
    const { price, shopKey } = await meshPair({
      timeout: 20,
      methods: {
        get_price: (_, { signal }) => {
          signal.addEventListener('abort', () => aborted.resolve())
          return new Promise(() => {})
        },
      },
    })
    const { endpoint } = await startMeshServer(price)
    const { status, body } = await post(endpoint, await signedRequest(shopKey))
    expect([status, body.payload?.error?.code]).toEqual([504, 'TIMEOUT'])
    await aborted.promise
  })

  it('a message over maxInFlight is refused with 503', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { price, shopKey } = await meshPair({
      maxInFlight: 1,
      methods: { get_price: () => promise.then(() => ({})) },
    })
    const { endpoint } = await startMeshServer(price)
    const first = post(endpoint, await signedRequest(shopKey))
    await expect
      .poll(async () => (await post(endpoint, await signedRequest(shopKey))).status, { timeout: 10_000 })
      .toBe(503)
    resolve()
    expect((await first).status).toBe(200)
  })

  it('only POST with a JSON content type is accepted', async () => {
    const { price } = await meshPair()
    const { endpoint } = await startMeshServer(price)
    const text = await fetch(endpoint, { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } })
    expect(text.status).toBe(400)
    const get = await fetch(endpoint)
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('with lenientIds, a message id need not be a UUID', async () => {
    const { price, shopKey } = await meshPair({ lenientIds: true })
    const { endpoint } = await startMeshServer(price)
    const old = await signedRequest(shopKey, { message_id: 'c9h0f1g4-i5j6-7k8l-9m0n-o1p2q3r4s5t6' })
    expect((await post(endpoint, old)).status).toBe(200)
  })
})
