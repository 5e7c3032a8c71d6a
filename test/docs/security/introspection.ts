import { oauth2 } from '../../../src/entries/auth.ts'

/** The agent is known to the provider by an id and a secret of its own, with which it looks tokens up. */
export function byIntrospection(provider: string, clientId: string, clientSecret: string) {
  const corp = oauth2({
    flow: { type: 'client-credentials', tokenUrl: `${provider}/token`, scopes: { read: 'Reads reports' } },
    introspection: { url: `${provider}/token/introspection`, clientId, clientSecret },
  })
  return { schemes: { corp }, require: [{ corp: ['read'] }] }
}
