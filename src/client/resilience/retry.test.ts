import { expect, test } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import { isTransient, isUnsent } from './retry.ts'

const failure = (reason: string) => new A2AError('unavailable', 'No.', { reason })

test('what never left may be sent again, also if the code for its version could not be loaded', () => {
  for (const reason of ['connection-refused', 'not-loaded']) expect(isUnsent(failure(reason))).toBe(true)
  for (const reason of ['connection-lost', 'silent']) expect(isUnsent(failure(reason))).toBe(false)
})

test('what nobody can put right by waiting is not tried again', () => {
  for (const reason of ['certificate', 'aborted', 'deadline']) expect(isTransient(failure(reason))).toBe(false)
  expect(isTransient(failure('not-loaded'))).toBe(true)
})
