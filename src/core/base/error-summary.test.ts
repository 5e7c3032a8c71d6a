import { describe, expect, it } from 'vitest'
import { describeError, redactSecrets, summarizeError } from './error-summary.ts'

class Refused extends RangeError {
  override readonly name = 'Refused'
}

describe('summarizeError', () => {
  it.each([
    ['a plain error', new Error('secret')],
    ['a message of several lines', new Error('secret\n    at the door\n\nsecret')],
    ['a named error', new Refused('secret')],
    ['a cause', new Error('', { cause: new TypeError('secret', { cause: 'secret' }) })],
    ['a name that is a sentence', Object.assign(new Error('x'), { name: 'a secret' })],
    ['a code that is a sentence', Object.assign(new Error('x'), { code: 'a secret' })],
    ['a stack that was replaced', Object.assign(new Error('other'), { stack: 'Error: secret\n    at x' })],
    ['a stack with an added line', Object.assign(new Error('a'), { stack: 'Error: a\n    at x\nsecret' })],
    ['a thrown string', 'secret'],
    ['a thrown object', { message: 'secret' }],
  ])('the text of %s is left out', (_, error) => {
    expect(JSON.stringify(summarizeError(error))).not.toContain('secret')
  })

  it('the type, the code, the place and the cause stay', () => {
    const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const summary = summarizeError(new Refused('No more paper', { cause }))
    expect(summary).toMatchObject({ name: 'Refused', cause: { name: 'Error', code: 'ECONNREFUSED' } })
    expect(summary.stack).toMatch(/^ {4}at .*error-summary\.test\.ts/)
    expect(summarizeError(new Error()).stack).toMatch(/^ {4}at .*error-summary\.test\.ts/)
  })

  it('an error that is its own cause has an end', () => {
    const error = new Error('a')
    error.cause = error
    expect(JSON.stringify(summarizeError(error)).match(/"name"/g)).toHaveLength(4)
  })
})

describe('describeError', () => {
  it('the message, the code, the status, the stack and the cause are kept, and other members are not', () => {
    const cause = new AggregateError([Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })], '')
    const error = Object.assign(new Refused('no answer', { cause }), {
      statusCode: 503,
      requestBody: 'what callers sent',
    })
    expect(describeError(error)).toMatchObject({
      name: 'Refused',
      message: 'no answer',
      status: 503,
      stack: expect.stringContaining('error-summary.test.ts'),
      cause: { name: 'AggregateError', cause: { message: 'refused', code: 'ECONNREFUSED' } },
    })
    expect(JSON.stringify(describeError(error))).not.toContain('what callers sent')
  })

  it('a thrown value that is not an error is described, and an error that is its own cause has an end', () => {
    expect(describeError('no')).toEqual({ name: 'string', message: 'no' })
    expect(describeError({ reason: 'no' })).toEqual({ name: 'object', message: '{"reason":"no"}' })
    const error = new Error('a')
    error.cause = error
    expect(JSON.stringify(describeError(error)).match(/"name"/g)).toHaveLength(4)
  })
})

describe('redactSecrets', () => {
  it.each([
    ['postgres://me:hunter2@db.example/x', 'postgres://***@db.example/x'],
    ['GET https://a.example/v1?model=x&api_key=hunter2&n=1', 'GET https://a.example/v1?model=x&api_key=***&n=1'],
    ['https://a.example/?access_token=hunter2', 'https://a.example/?access_token=***'],
    ['authorization: Bearer hunter2.x-y', 'authorization: Bearer ***'],
    ['Basic bWU6aHVudGVyMg==', 'Basic ***'],
    ['key sk-proj-hunter2hunter2', 'key ***'],
    ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.hunter2', 'token ***'],
  ])('%s becomes %s', (text, redacted) => {
    expect(redactSecrets(text)).toBe(redacted)
  })

  it.each([
    'Basic authentication failed',
    'connect ECONNREFUSED 127.0.0.1:4000',
    'There is no task 01a1e5d47de7-e2ce4a5eca2b93f9748c5ac05830f0a9, or it is not yours.',
    'https://agents.example.com/a?page=2',
  ])('%s stays as it is', (text) => {
    expect(redactSecrets(text)).toBe(text)
  })

  it('a long text is cut', () => {
    expect(redactSecrets('?token'.repeat(10_000)).length).toBeLessThan(9_000)
  })
})
