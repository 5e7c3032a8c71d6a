import { expect, test } from 'vitest'
import { clientDialects } from './client-dialects.ts'

test.each(clientDialects)('the info of $name matches the loaded dialect', async ({ load, sendMethod, ...rest }) => {
  const dialect = await load()
  const { olderEqualVersion: _, extendsVersion: __, profile: ___, ...info } = rest
  expect(dialect).toMatchObject(info)
  expect(dialect.cannotResume ?? false).toBe(info.cannotResume ?? false)
  expect(sendMethod).toBe(dialect.bindings.includes('JSONRPC') ? dialect.methods.sendMessage : undefined)
})
