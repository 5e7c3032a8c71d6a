import { expect, it } from 'vitest'
import { A2AError, withContext } from './errors.ts'

it('a changed copy of an error keeps what the changes leave out, and where it was thrown', () => {
  const violations = [{ field: 'name', description: 'expected a text' }]
  const error = new A2AError('internal', 'It failed.', { cause: 'x', violations, retryAfter: 5, url: 'https://a.test' })
  const copy = withContext(error, { code: 'unavailable', message: 'It is gone: $&.', reason: 'gateway' })
  expect(copy).toMatchObject({ code: 'unavailable', reason: 'gateway', cause: 'x', violations, retryAfter: 5 })
  expect(copy.url).toBe('https://a.test')
  expect(copy.stack).toBe(error.stack?.replace('It failed.', () => 'It is gone: $&.'))
  expect(withContext(error, {})).toEqual(error)
})
