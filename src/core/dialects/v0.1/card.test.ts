import { describe, expect, it } from 'vitest'
import type { AgentCard, OAuthFlow, SecurityScheme } from '../../protocol/card.ts'
import { decodeCard, encodeCard } from './card.ts'

describe('decodeCard', () => {
  const smallest = {
    name: 'Echo',
    url: 'https://h/a2a',
    version: '1',
    capabilities: {},
    skills: [{ id: 's', name: 'S' }],
  }

  it('a minimal card is decoded', () => {
    expect(decodeCard({ ...smallest, description: null })).toStrictEqual({
      name: 'Echo',
      description: '',
      version: '1',
      interfaces: [{ url: 'https://h/a2a', binding: 'JSONRPC', protocolVersion: '0.1' }],
      capabilities: {},
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 's', name: 'S', description: '', tags: [] }],
      carry: { 'v0.1': { anyInput: true, anyOutput: true } },
    })
  })

  it('a malformed card is an invalid agent response', () => {
    expect(() => decodeCard({ ...smallest, url: 5 })).toThrow(
      expect.objectContaining({ code: 'invalid-agent-response', message: expect.stringMatching(/^url: /) }),
    )
  })

  describe('the authentication of a card', () => {
    function schemesFor(schemes: readonly string[], credentials?: string) {
      return decodeCard({ ...smallest, authentication: { schemes, credentials } }).securitySchemes
    }

    it('each scheme of the authentication is an alternative', () => {
      const { security, securitySchemes } = decodeCard({
        ...smallest,
        authentication: { schemes: ['Bearer', 'Digest'] },
      })
      expect(security).toStrictEqual([{ Bearer: [] }, { Digest: [] }])
      expect(securitySchemes).toStrictEqual({
        Bearer: { type: 'http', scheme: 'bearer' },
        Digest: { type: 'http', scheme: 'Digest' },
      })
    })

    it('the credentials have the details of the only scheme that needs them', () => {
      const flows: readonly OAuthFlow[] = [
        { type: 'authorization-code', authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes: { read: 'Reads' } },
        { type: 'client-credentials', tokenUrl: 'https://t', scopes: {} },
        { type: 'implicit', authorizationUrl: 'https://a', scopes: {} },
      ]
      const schemes: readonly SecurityScheme[] = [
        { type: 'api-key', name: 'X-Key', location: 'query' },
        { type: 'openid', url: 'https://o' },
        ...flows.map((flow): SecurityScheme => ({ type: 'oauth2', flow })),
      ]
      for (const scheme of schemes) {
        const card = { ...decodeCard(smallest), securitySchemes: { a: scheme }, security: [{ a: [] }] }
        expect(Object.values(decodeCard(encodeCard(card)).securitySchemes ?? {})).toStrictEqual([scheme])
      }
    })

    it('schemes are recognised in any case, with or without details', () => {
      expect(schemesFor(['apikey'])).toStrictEqual({
        apikey: { type: 'api-key', name: 'X-API-Key', location: 'header' },
      })
      expect(schemesFor(['OPENIDCONNECT'], 'https://o')).toStrictEqual({
        OPENIDCONNECT: { type: 'openid', url: 'https://o' },
      })
      for (const credentials of [undefined, 'a secret?', '[]', '{"scopes":["a"]}']) {
        expect(schemesFor(['OAuth2'], credentials)).toStrictEqual({ OAuth2: { type: 'http', scheme: 'OAuth2' } })
      }
    })
  })
})

describe('encodeCard', () => {
  const card: AgentCard = {
    name: 'Echo',
    description: 'Repeats',
    version: '1',
    interfaces: [
      { url: 'https://h/new', binding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://h/a2a', binding: 'JSONRPC', protocolVersion: '0.1' },
    ],
    capabilities: { streaming: true, pushNotifications: false, extendedCard: true, extensions: [{ uri: 'https://e' }] },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['image/png'],
    skills: [{ id: 's', name: 'S', description: 'Does it', tags: ['t'], examples: ['Do'], security: [{ key: [] }] }],
    provider: { organization: 'Acme', url: 'https://acme' },
    documentationUrl: 'https://docs',
    iconUrl: 'https://icon',
  }

  it('a card is encoded with all that 0.1 has, and its 0.1 address', () => {
    expect(encodeCard(card)).toStrictEqual({
      name: 'Echo',
      description: 'Repeats',
      url: 'https://h/a2a',
      version: '1',
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['image/png'],
      skills: [{ id: 's', name: 'S', description: 'Does it', tags: ['t'], examples: ['Do'] }],
      provider: { organization: 'Acme', url: 'https://acme' },
      documentationUrl: 'https://docs',
    })
  })

  it('a card without a 0.1 interface is rejected', () => {
    expect(() => encodeCard({ ...card, interfaces: card.interfaces.slice(0, 1) })).toThrow(
      expect.objectContaining({ code: 'version-not-supported' }),
    )
  })

  describe('the authentication of a card', () => {
    const bearer: SecurityScheme = { type: 'http', scheme: 'bearer' }
    const openId: SecurityScheme = { type: 'openid', url: 'https://o' }

    function authenticationFor(securitySchemes: Readonly<Record<string, SecurityScheme>>) {
      const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }))
      return encodeCard({ ...card, securitySchemes, security }).authentication
    }

    it('the authentication names each scheme once', () => {
      expect(authenticationFor({ a: bearer, b: { type: 'http', scheme: 'Basic' }, c: bearer })).toStrictEqual({
        schemes: ['Bearer', 'Basic'],
      })
    })

    it('the credentials have the details of the only scheme that needs them, and none if several do', () => {
      const flow = { authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes: { read: 'Reads' } }
      const code: SecurityScheme = { type: 'oauth2', flow: { type: 'authorization-code', ...flow } }
      expect(authenticationFor({ a: bearer, b: code })).toStrictEqual({
        schemes: ['Bearer', 'OAuth2'],
        credentials: JSON.stringify(flow),
      })
      expect(authenticationFor({ a: code, b: openId })).toStrictEqual({ schemes: ['OAuth2', 'OpenIdConnect'] })
    })

    it('the authentication names schemes without details in 0.1', () => {
      const flow = { type: 'password', tokenUrl: 'https://t', scopes: {} } as const
      expect(authenticationFor({ a: { type: 'oauth2', flow }, b: { type: 'mutual-tls' } })).toStrictEqual({
        schemes: ['OAuth2', 'MutualTLS'],
      })
    })

    it('the authentication has only the required schemes', () => {
      expect(encodeCard({ ...card, securitySchemes: { a: bearer } }).authentication).toBeUndefined()
      expect(encodeCard({ ...card, security: [{ constructor: [] }] }).authentication).toBeUndefined()
    })
  })
})
