import { expect, test } from 'vitest'
import { clientDialects } from './client-dialects.ts'

test.each(clientDialects)(
  '$name is what is known of it before it is loaded',
  async ({ load, sendMethod, ...known }) => {
    const dialect = await load()
    expect(dialect).toMatchObject(known)
    expect(dialect.cannotResume ?? false).toBe(known.cannotResume ?? false)
    expect(sendMethod).toBe(dialect.bindings.includes('JSONRPC') ? dialect.methods.sendMessage : undefined)
  },
)
