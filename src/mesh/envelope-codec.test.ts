import { describe, expect, it } from 'vitest'
import type { EnvelopeRules } from './envelope.ts'
import { createEnvelopeReader, type ReadOptions } from './envelope-codec.ts'

const request = {
  message_id: '3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59',
  message_type: 'request',
  sender_id: 'shop-agent',
  recipient_id: 'price-agent',
  timestamp: '2026-01-31T12:00:00.000Z',
  payload: { method: 'get_price' },
}

function read(value: unknown, options?: ReadOptions) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return createEnvelopeReader(options)(new TextEncoder().encode(text))
}

describe('an envelope', () => {
  it('an envelope is read unchanged', () => {
    expect(read(request)).toEqual({ envelope: request })
  })

  it.each([
    ['a byte order mark', `\ufeff${JSON.stringify(request)}`, 'begins with a byte order mark'],
    [
      'an infinite number',
      JSON.stringify(request).replace('"get_price"', '"m","parameters":{"x":1e999}'),
      'a number is too',
    ],
    ['a duplicate key', JSON.stringify(request).replace('{', '{"payload":{},'), 'duplicate key'],
    [
      '65 levels',
      JSON.stringify(request).replace('"get_price"', `"m","parameters":{"x":${'['.repeat(62)}${']'.repeat(62)}}`),
      'nested deeper',
    ],
  ])('an envelope is rejected with %s', (_, text, reason) => {
    expect(read(text).error).toMatchObject({ code: 'INVALID_MESSAGE', message: expect.stringContaining(reason) })
  })

  it.each([
    ['a lone surrogate', '"\\ud800"', 'has a string that is not valid Unicode'],
    ['a lone surrogate in a name', '{"\\udc00":1}', 'has a string that is not valid Unicode'],
  ])('an envelope is rejected with %s at any depth', (_, value, reason) => {
    const text = JSON.stringify({ ...request, payload: { method: 'm', parameters: { x: [] } } }).replace('[]', value)
    expect(read(text).error).toMatchObject({ code: 'VALIDATION_FAILED', message: `payload.parameters: ${reason}` })
  })

  it('an envelope has at most 10 MiB', () => {
    const empty = JSON.stringify({ ...request, payload: { method: 'm', parameters: { x: '' } } })
    const filled = (length: number) => empty.replace('"x":""', `"x":"${'x'.repeat(length - empty.length)}"`)
    expect(read(filled(10_485_760)).error).toBeUndefined()
    expect(read(filled(10_485_761)).error).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { max_bytes: 10_485_760 },
    })
  })

  it('an envelope is rejected with the path of the violation and a short excerpt', () => {
    expect(read({ ...request, payload: { method: 7 } }).error).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: 'payload.method: expected a string, got a number',
      details: { field: 'payload.method' },
    })
    const { error } = read({ ...request, sender_id: '!'.repeat(128), [`x${'y'.repeat(5000)}`]: 1 })
    expect(error?.message.length).toBeLessThan(300)
  })

  it('an envelope is rejected with its sender if that is readable', () => {
    expect(read({ ...request, payload: {} })).toMatchObject({
      origin: { messageId: request.message_id, senderId: 'shop-agent', type: 'request' },
    })
    expect(read({ ...request, message_id: 'x' })).not.toHaveProperty('origin.messageId')
  })

  it.each<[string, object, EnvelopeRules, boolean]>([
    ['a custom filter', { filters: { region: 'eu' } }, {}, true],
    ['a custom filter', { filters: { region: 'eu' } }, { version: '1.0.0' }, true],
    ['a custom filter', { filters: { region: 'eu' } }, { version: '1.1.0' }, false],
  ])('an envelope may have %s depending on the version: %j with %j is %s', (_, payload, rules, isValid) => {
    const message = { ...request, message_type: 'discover_agents', recipient_id: 'registry', payload }
    expect(read(message, rules).error === undefined).toBe(isValid)
  })

  it('an envelope has two more types since version 1.1.0', () => {
    const goodbye = { ...request, message_type: 'goodbye', payload: {} }
    expect(
      [undefined, '1.0.0', '1.1.0'].map((version) => read(goodbye, { version } as EnvelopeRules).error?.code),
    ).toEqual([undefined, 'VALIDATION_FAILED', undefined])
  })

  it('an envelope may have other ids only with lenientIds', () => {
    const old = { ...request, message_id: 'c9h0f1g4-i5j6-7k8l-9m0n-o1p2q3r4s5t6' }
    expect(read(old).error?.details).toEqual({ field: 'message_id' })
    expect(read(old, { lenientIds: true }).error).toBeUndefined()
    expect(read({ ...old, message_id: 'C'.repeat(36) }, { lenientIds: true }).error).toBeDefined()
  })
})
