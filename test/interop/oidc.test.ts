import { describe, expect, it } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import {
  authorizationCode,
  clientCredentials,
  type DevicePrompt,
  deviceCode,
} from '../../src/core/client/credentials/oauth-flows.ts'
import {
  browse,
  browserClient,
  confidentialClient,
  deviceClient,
  type OidcServer,
  startOidcServer,
} from '../support/auth/oidc-server.ts'
import { startAuthenticatingAgent } from '../support/servers/authenticating-agent.ts'

async function startAgent(oidc: OidcServer, scopes: readonly string[]) {
  return await startAuthenticatingAgent({
    card: () => ({
      securitySchemes: { oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: oidc.discovery } } },
      securityRequirements: [{ schemes: { oidc: { list: scopes } } }],
    }),
    accepts: ({ headers }) => oidc.presentsToken(headers),
  })
}

describe('client credentials with an OpenID provider', () => {
  it('clientCredentials requests a token, and a new one when it has expired', async () => {
    const oidc = await startOidcServer()
    const { origin } = await startAgent(oidc, ['read'])
    const client = await connect(origin, { auth: [clientCredentials({ ...confidentialClient, issuer: oidc.origin })] })
    expect((await client.send('Hello')).text).toBe('Welcome')
    oidc.revokeAll()
    expect((await client.send('Hello')).text).toBe('Welcome')
  })

  it('a wrong client secret is reported without the secret', async () => {
    const oidc = await startOidcServer()
    const { origin } = await startAgent(oidc, ['read'])
    const wrong = { ...confidentialClient, clientSecret: 'planted-secret', issuer: oidc.origin }
    const client = await connect(origin, { auth: [clientCredentials(wrong)] })
    const failure = await client.send('Hello').catch((error) => error)
    expect(failure).toMatchObject({ code: 'unauthenticated', reason: 'credentials-refused' })
    expect(failure.message).toContain('invalid_client')
    expect(JSON.stringify([failure.message, failure.hint, failure])).not.toContain('planted-secret')
  })

  it('authorizationCode asks the user once and refreshes the token', async () => {
    const oidc = await startOidcServer()
    const { origin } = await startAgent(oidc, ['openid', 'read'])
    let visits = 0
    const authorize = (url: string) => {
      visits++
      return browse(url, browserClient.redirectUri)
    }
    const client = await connect(origin, { auth: [authorizationCode({ ...browserClient, authorize })] })
    expect((await client.send('Hello')).text).toBe('Welcome')
    oidc.revokeAll()
    expect((await Array.fromAsync(client.stream('Hello'))).at(-1)).toMatchObject({ type: 'message' })
    expect(visits).toBe(1)
  })

  it('deviceCode waits until the user agrees on another device', async () => {
    const oidc = await startOidcServer()
    const { origin } = await startAgent(oidc, ['openid', 'read'])
    const pages: Promise<string>[] = []
    const onPrompt = ({ verificationUriComplete = '' }: DevicePrompt) =>
      void pages.push(browse(verificationUriComplete, 'nowhere'))
    const client = await connect(origin, { auth: [deviceCode({ ...deviceClient, onPrompt })] })
    expect((await client.send('Hello')).text).toBe('Welcome')
    expect(await pages[0]).toContain('Sign-in Success')
  })
})
