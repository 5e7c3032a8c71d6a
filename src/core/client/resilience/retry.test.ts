import { expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import { isTransient, isUnsent } from './retry.ts'

const failure = (reason: string) => new A2AError('unavailable', 'No.', { reason })

it('a call that was not sent may be repeated, including one whose dialect could not be loaded', () => {
  for (const reason of ['connection-refused', 'not-loaded']) expect(isUnsent(failure(reason))).toBe(true)
  for (const reason of ['connection-lost', 'silent']) expect(isUnsent(failure(reason))).toBe(false)
})

it('a call is not repeated if waiting cannot help', () => {
  for (const reason of ['certificate', 'aborted', 'deadline']) expect(isTransient(failure(reason))).toBe(false)
  expect(isTransient(failure('not-loaded'))).toBe(true)
})
