import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../protocol/card.ts'
import { encodeCard } from './card.ts'

const echo = {
  name: 'Echo',
  description: 'Says it back',
  version: '2.1.0',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
}
const ours: AgentCard = {
  ...echo,
  interfaces: [
    { url: 'https://a.test/rpc', binding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://a.test/rpc', binding: 'JSONRPC', protocolVersion: '0.3' },
    { url: 'https://a.test/rest', binding: 'HTTP+JSON', protocolVersion: '0.3', tenant: 'x' },
    { url: 'https://a.test/rpc', binding: 'JSONRPC', protocolVersion: '0.2' },
  ],
  capabilities: { streaming: true, extendedCard: false },
  skills: [{ id: 'echo', name: 'Echo', description: 'Says it back', tags: ['demo'], security: [{ jwt: [] }] }],
}

describe('a card that is written', () => {
  it('has the interfaces of 0.3, of which the first is the main one', () => {
    expect(encodeCard(ours)).toStrictEqual({
      ...echo,
      url: 'https://a.test/rpc',
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [
        { url: 'https://a.test/rpc', transport: 'JSONRPC' },
        { url: 'https://a.test/rest', transport: 'HTTP+JSON' },
      ],
      protocolVersion: '0.3.0',
      capabilities: { streaming: true },
      skills: [{ id: 'echo', name: 'Echo', description: 'Says it back', tags: ['demo'], security: [{ jwt: [] }] }],
      supportsAuthenticatedExtendedCard: false,
    })
  })

  it('does not exist for an agent that does not speak 0.3', () => {
    expect(() => encodeCard({ ...ours, interfaces: ours.interfaces.slice(0, 1) })).toThrow('no interface of A2A 0.3')
  })

  it('has every type of security scheme', () => {
    const securitySchemes: AgentCard['securitySchemes'] = {
      key: { type: 'api-key', name: 'X-Key', location: 'header', description: 'A key' },
      jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      sso: { type: 'openid', url: 'https://sso' },
      tls: { type: 'mutual-tls' },
      oauth: {
        type: 'oauth2',
        metadataUrl: 'https://m',
        flow: {
          type: 'authorization-code',
          authorizationUrl: 'https://a',
          tokenUrl: 'https://t',
          scopes: { r: 'Read' },
          pkceRequired: true,
        },
      },
    }
    expect(encodeCard({ ...ours, securitySchemes }).securitySchemes).toStrictEqual({
      key: { type: 'apiKey', in: 'header', name: 'X-Key', description: 'A key' },
      jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      sso: { type: 'openIdConnect', openIdConnectUrl: 'https://sso' },
      tls: { type: 'mutualTLS' },
      oauth: {
        type: 'oauth2',
        flows: { authorizationCode: { scopes: { r: 'Read' }, authorizationUrl: 'https://a', tokenUrl: 'https://t' } },
        oauth2MetadataUrl: 'https://m',
      },
    })
  })

  it('leaves out schemes that 0.3 has not, and requirements that name them', () => {
    const flow = {
      type: 'device-code',
      deviceAuthorizationUrl: 'https://d',
      tokenUrl: 'https://t',
      scopes: {},
    } as const
    const card: AgentCard = {
      ...ours,
      securitySchemes: { device: { type: 'oauth2', flow }, jwt: { type: 'http', scheme: 'bearer' } },
      security: [{ device: [] }, { jwt: [], device: [] }, { jwt: [], elsewhere: [] }],
    }
    expect(encodeCard(card)).toMatchObject({
      securitySchemes: { jwt: { type: 'http', scheme: 'bearer' } },
      security: [{ jwt: [], elsewhere: [] }],
    })
    expect(encodeCard({ ...card, security: [{ device: [] }] }).security).toEqual([])
  })

  it('has flows in one scheme that are schemes of the same name in 1.0', () => {
    const flow = { tokenUrl: 'https://t', scopes: {} }
    const card: AgentCard = {
      ...ours,
      securitySchemes: {
        oauth: { type: 'oauth2', flow: { type: 'client-credentials', ...flow } },
        'oauth.password': { type: 'oauth2', flow: { type: 'password', ...flow } },
        'oauth.implicit': {
          type: 'oauth2',
          description: 'Another one',
          flow: { type: 'implicit', authorizationUrl: 'https://a', scopes: {} },
        },
      },
      security: [{ oauth: ['r'] }, { 'oauth.password': ['r'] }, { 'oauth.password': ['w'] }, { 'oauth.implicit': [] }],
    }
    expect(encodeCard(card)).toMatchObject({
      securitySchemes: {
        oauth: { type: 'oauth2', flows: { clientCredentials: flow, password: flow } },
        'oauth.implicit': { type: 'oauth2', description: 'Another one' },
      },
      security: [{ oauth: ['r'] }, { oauth: ['w'] }, { 'oauth.implicit': [] }],
    })
  })
})
