import type { AuthOptions } from '../../../src/entries/auth.ts'
import type { HandlerOptions } from '../../../src/entries/server.ts'

export function withPolicy(auth: AuthOptions): HandlerOptions['auth'] {
  return {
    ...auth,
    policy: ({ tenant, scopes = [] }, operation) => {
      if (scopes.includes('admin')) return 'everyone'
      return tenant !== undefined && operation !== 'cancelTask' ? { tenants: [tenant] } : undefined
    },
  }
}
