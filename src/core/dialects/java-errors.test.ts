import { expect, it } from 'vitest'
import { A2AError } from '../protocol/errors.ts'
import type { ServerDialect } from './dialect.ts'
import { adaptHttpError } from './java-errors.ts'
import { v0_3House } from './v0.3-house/server.ts'
import { v0_3Proto } from './v0.3-proto/server.ts'
import { v1_0 } from './v1.0/server.ts'

const java = { userAgent: 'Java-http-client/17.0.15', version: undefined }

function errorIn(
  dialect: ServerDialect,
  error: A2AError,
  caller: { userAgent: string; version: string | undefined } = java,
) {
  return adaptHttpError(dialect.encodeHttpError(error), error, caller, dialect).body
}

it('the Java SDK gets the class of each version', () => {
  const error = new A2AError('extended-card-not-configured', 'None')
  const names = [v0_3Proto, v1_0].map((dialect) => errorIn(dialect, error).error)
  expect(names).toEqual([
    'io.a2a.spec.AuthenticatedExtendedCardNotConfiguredError',
    'io.a2a.spec.ExtendedCardNotConfiguredError',
  ])
})

it('house clients for Java, and clients that name their version, get the error as it is', () => {
  const error = new A2AError('task-not-found', 'None')
  expect(errorIn(v0_3House, error)).toEqual(v0_3House.encodeHttpError(error).body)
  expect(errorIn(v1_0, error, { ...java, version: '1.0' })).toEqual(v1_0.encodeHttpError(error).body)
})
