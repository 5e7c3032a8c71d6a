import { describe, expect, it } from 'vitest'
import type { Incoming } from '../../http/exchange.ts'
import { idempotencyKeyOf, resumePointOf, versionOf } from './call.ts'

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

describe('the version', () => {
  it('is in the header, or else in the query', () => {
    expect(versionOf(incoming({ 'a2a-version': '1.0.1' }, 'A2A-Version=0.3'))).toBe('1.0')
    expect(versionOf(incoming({}, 'x=1&A2A-Version=1.0'))).toBe('1.0')
    expect(versionOf(incoming({ 'a2a-version': '' }, 'A2A-Version=1.0'))).toBe('1.0')
    expect(versionOf(incoming({}))).toBeUndefined()
  })
})

describe('the idempotency key', () => {
  it('has 1 to 255 printable ASCII characters', () => {
    expect(idempotencyKeyOf(incoming({}))).toBeUndefined()
    for (const key of ['k', '"8e03978e 40d5"', 'x'.repeat(255)]) {
      expect(idempotencyKeyOf(incoming({ 'idempotency-key': key }))).toBe(key)
    }
    for (const key of ['', 'x'.repeat(256), 'schlüssel', 'a\tb']) {
      expect(() => idempotencyKeyOf(incoming({ 'idempotency-key': key }))).toThrow(
        /^Idempotency-Key: expected 1 to 255/,
      )
    }
  })
})

describe('the point to resume at', () => {
  it('is in the header, or else in the query', () => {
    expect(resumePointOf(incoming({ 'last-event-id': '0' }, 'lastEventId=7'))).toBe(0)
    expect(resumePointOf(incoming({}, 'lastEventId=7'))).toBe(7)
    expect(resumePointOf(incoming({}, 'other=7'))).toBeUndefined()
  })

  it('is a number from 0 on', () => {
    for (const text of ['', '-1', '1.5', '1e3', 'abc', ' 1', '9'.repeat(16)]) {
      expect(() => resumePointOf(incoming({ 'last-event-id': text }))).toThrow(/^Last-Event-ID: expected the number/)
      expect(() => resumePointOf(incoming({}, `lastEventId=${text}`))).toThrow(/^lastEventId: expected the number/)
    }
  })
})
