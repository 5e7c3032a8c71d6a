import { describe, expect, it } from 'vitest'
import { summarizeError } from './error-summary.ts'

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
