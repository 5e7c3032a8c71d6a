import { describe, expect, it } from 'vitest'
import type { Incoming } from '../../http/exchange.ts'
import { anonymous } from '../../protocol/model.ts'
import { readIdempotencyKey, readResumePoint, readVersion, WireCall } from './call.ts'

function incoming(headers: Record<string, string>, query = ''): Incoming {
  return {
    method: 'POST',
    path: '/',
    query,
    base: '',
    secure: false,
    certificate: () => undefined,
    header: (name) => headers[name],
    bytes: async () => new Uint8Array(),
    signal: new AbortController().signal,
  }
}

describe('readVersion', () => {
  it('the header comes before the query', () => {
    expect(readVersion(incoming({ 'a2a-version': '1.0.1' }, 'A2A-Version=0.3'))).toBe('1.0')
    expect(readVersion(incoming({}, 'x=1&A2A-Version=1.0'))).toBe('1.0')
    expect(readVersion(incoming({ 'a2a-version': '' }, 'A2A-Version=1.0'))).toBe('1.0')
    expect(readVersion(incoming({}))).toBeUndefined()
  })
})

describe('readIdempotencyKey', () => {
  it('a key has 1 to 255 printable ASCII characters', () => {
    expect(readIdempotencyKey(incoming({}))).toBeUndefined()
    for (const key of ['k', '"8e03978e 40d5"', 'x'.repeat(255)]) {
      expect(readIdempotencyKey(incoming({ 'idempotency-key': key }))).toBe(key)
    }
    for (const key of ['', 'x'.repeat(256), 'schlüssel', 'a\tb']) {
      expect(() => readIdempotencyKey(incoming({ 'idempotency-key': key }))).toThrow(
        /^Idempotency-Key: expected 1 to 255/,
      )
    }
  })
})

describe('readResumePoint', () => {
  it('the header comes before the query', () => {
    expect(readResumePoint(incoming({ 'last-event-id': '0' }, 'lastEventId=7'))).toBe(0)
    expect(readResumePoint(incoming({}, 'lastEventId=7'))).toBe(7)
    expect(readResumePoint(incoming({}, 'other=7'))).toBeUndefined()
  })

  it('only an integer from 0 on is accepted', () => {
    for (const text of ['', '-1', '1.5', '1e3', 'abc', ' 1', '9'.repeat(16)]) {
      expect(() => readResumePoint(incoming({ 'last-event-id': text }))).toThrow(/^Last-Event-ID: expected the number/)
      expect(() => readResumePoint(incoming({}, `lastEventId=${text}`))).toThrow(/^lastEventId: expected the number/)
    }
  })
})

describe('requireTenant', () => {
  it('a call for the tenant of the agent is accepted', () => {
    expect(() => new WireCall(incoming({}), anonymous, { tenant: 'acme' }).requireTenant('acme')).not.toThrow()
  })

  it.each([undefined, 'other'])('a call for "acme" to an agent of tenant %s is rejected', (tenant) => {
    const call = new WireCall(incoming({}), anonymous, { tenant })
    expect(() => call.requireTenant('acme')).toThrow('tenant: there is no such tenant')
  })
})
