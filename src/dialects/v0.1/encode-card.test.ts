import { describe, expect, it } from 'vitest'
import type { AgentCard, SecurityScheme } from '../../protocol/card.ts'
import { encodeCard } from './card.ts'

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

it('a card shows all that 0.1 has, and the address at which it is spoken', () => {
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

it('a card of an agent that does not speak 0.1 cannot be shown', () => {
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

  it('names each scheme once', () => {
    expect(authenticationFor({ a: bearer, b: { type: 'http', scheme: 'Basic' }, c: bearer })).toStrictEqual({
      schemes: ['Bearer', 'Basic'],
    })
  })

  it('tells of the one scheme that needs it what else callers must know, and of several nothing', () => {
    const flow = { authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes: { read: 'Reads' } }
    const code: SecurityScheme = { type: 'oauth2', flow: { type: 'authorization-code', ...flow } }
    expect(authenticationFor({ a: bearer, b: code })).toStrictEqual({
      schemes: ['Bearer', 'OAuth2'],
      credentials: JSON.stringify(flow),
    })
    expect(authenticationFor({ a: code, b: openId })).toStrictEqual({ schemes: ['OAuth2', 'OpenIdConnect'] })
  })

  it('names what 0.1 has no details for', () => {
    const flow = { type: 'password', tokenUrl: 'https://t', scopes: {} } as const
    expect(authenticationFor({ a: { type: 'oauth2', flow }, b: { type: 'mutual-tls' } })).toStrictEqual({
      schemes: ['OAuth2', 'MutualTLS'],
    })
  })

  it('is only what callers must have', () => {
    expect(encodeCard({ ...card, securitySchemes: { a: bearer } }).authentication).toBeUndefined()
    expect(encodeCard({ ...card, security: [{ constructor: [] }] }).authentication).toBeUndefined()
  })
})
