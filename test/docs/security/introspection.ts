import { oauth2 } from '../../../src/entries/auth.ts'

/** The agent has its own client id and secret at the provider, and looks up tokens with them. */
export function byIntrospection(provider: string, clientId: string, clientSecret: string) {
  const corp = oauth2({
    flow: { type: 'client-credentials', tokenUrl: `${provider}/token`, scopes: { read: 'Reads reports' } },
    introspection: { url: `${provider}/token/introspection`, clientId, clientSecret },
  })
  return { schemes: { corp }, require: [{ corp: ['read'] }] }
}
