import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arbitraryObjectOf, arbitraryOf } from '../../../../test/support/schema/arbitrary-of.ts'
import { expectRoundTrip } from '../../../../test/support/schema/expect-round-trip.ts'
import type { JsonObject } from '../../base/json.ts'
import type { AgentCard } from '../../protocol/card.ts'
import { decodeCard, encodeCard } from './card.ts'
import * as wire from './schemas.ts'

describe('decodeCard', () => {
  const theirs = {
    name: 'Echo',
    description: 'Says it back',
    version: '2.1.0',
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    url: 'https://a.test/rpc',
    protocolVersion: '0.3.0',
    capabilities: { streaming: true, stateTransitionHistory: true },
    skills: [],
  }

  it('interfaces are in order, without duplicates', () => {
    const interfacesOf = (addresses: JsonObject) => decodeCard({ ...theirs, ...addresses }).interfaces
    const rpc = { url: 'https://a.test/rpc', binding: 'JSONRPC', protocolVersion: '0.3' }
    const additionalInterfaces = [
      { url: 'https://a.test/rpc', transport: 'JSONRPC' },
      { url: 'https://a.test/rest', transport: 'REST' },
    ]
    expect(interfacesOf({})).toEqual([rpc])
    expect(interfacesOf({ additionalInterfaces })).toEqual([
      rpc,
      { url: 'https://a.test/rest', binding: 'HTTP+JSON', protocolVersion: '0.3' },
    ])
    expect(interfacesOf({ preferredTransport: 'GRPC' })).toEqual([{ ...rpc, binding: 'GRPC' }])
  })

  it('interfaces have the version of the card, or else 0.3', () => {
    const versions = { '0.3.0': '0.3', '0.2.6': '0.2', '0.2.9': '0.3', '1.0': '1.0', latest: '0.3' }
    for (const [protocolVersion, version] of Object.entries(versions)) {
      expect(decodeCard({ ...theirs, protocolVersion }).interfaces[0]?.protocolVersion).toBe(version)
    }
    const { protocolVersion: _, ...silent } = theirs
    expect(decodeCard(silent).interfaces[0]?.protocolVersion).toBe('0.3')
  })

  it('each flow becomes a scheme, and a requirement accepts any of them', () => {
    const flow = { tokenUrl: 'https://t', scopes: { r: 'Read' } }
    const card = decodeCard({
      ...theirs,
      securitySchemes: {
        oauth: { type: 'oauth2', flows: { clientCredentials: flow, password: flow }, description: 'Ours' },
        tls: { type: 'mutualTLS' },
      },
      security: [{ oauth: ['r'], tls: [] }],
    })
    expect(card.securitySchemes).toMatchObject({
      oauth: { type: 'oauth2', description: 'Ours', flow: { type: 'client-credentials', ...flow } },
      'oauth.password': { type: 'oauth2', description: 'Ours', flow: { type: 'password', ...flow } },
      tls: { type: 'mutual-tls' },
    })
    expect(card.security).toEqual([
      { oauth: ['r'], tls: [] },
      { 'oauth.password': ['r'], tls: [] },
    ])
  })

  it('unusable schemes are kept, and encoded again', () => {
    const securitySchemes = {
      jwt: { type: 'http', scheme: 'bearer' },
      quantum: { type: 'entanglement', pairs: 7 },
      none: { type: 'oauth2', flows: { telepathy: {} } },
    }
    const card = decodeCard({ ...theirs, securitySchemes })
    expect(Object.keys(card.securitySchemes ?? {})).toEqual(['jwt'])
    expect(encodeCard(card).securitySchemes).toEqual(securitySchemes)
  })

  it('changed interfaces are encoded, and other members stay the same', () => {
    const interfaces = [{ url: 'https://gateway', binding: 'JSONRPC', protocolVersion: '0.3' }]
    const wireCard = encodeCard({ ...decodeCard(theirs), interfaces })
    expect(wireCard).toMatchObject({ url: 'https://gateway', capabilities: { stateTransitionHistory: true } })
    expect(JSON.stringify(wireCard)).not.toContain('a.test')
  })

  it('a malformed card is rejected', () => {
    expect(() => decodeCard({ ...theirs, url: undefined })).toThrow('url: expected a string, got nothing')
    expect(() => decodeCard({ ...theirs, securitySchemes: { a: { type: 'http' } } })).toThrow(
      'securitySchemes["a"].scheme: expected a string, got nothing',
    )
    expect(() => decodeCard('<html>')).toThrow('result: expected an object, got a string')
  })
})

describe('encodeCard', () => {
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

  it('a card has the interfaces of 0.3, with the first as the main one', () => {
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

  it('a card without a 0.3 interface is rejected', () => {
    expect(() => encodeCard({ ...ours, interfaces: ours.interfaces.slice(0, 1) })).toThrow('no interface of A2A 0.3')
  })

  it('a card has every type of security scheme', () => {
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

  it('a card leaves out schemes that 0.3 does not have, and requirements with them', () => {
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

  it('schemes of the same name for several flows become one scheme', () => {
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

describe('round trips', () => {
  it('a card is encoded as it was decoded, even if scheme names look like flow schemes', () => {
    const names = fc.constantFrom('a', 'b', 'a.password', 'a.clientCredentials', 'a.password.implicit')
    const scopes = fc.array(fc.constantFrom('read', 'write'), { maxLength: 2 })
    const requirements = fc.array(fc.dictionary(names, scopes), { maxLength: 3 })
    const cards = fc
      .tuple(arbitraryObjectOf(wire.AgentCard), fc.dictionary(names, arbitraryOf(wire.SecurityScheme)), requirements)
      .map(([card, securitySchemes, security]): JsonObject => ({ ...card, securitySchemes, security }))
    expectRoundTrip(cards, (card) => encodeCard(decodeCard(card)))
  })

  it('a card without carry means the same after encoding and decoding', () => {
    fc.assert(
      fc.property(arbitraryOf(wire.AgentCard), (value) => {
        const { carry: _, ...card } = decodeCard(value)
        const { carry: __, ...again } = decodeCard(encodeCard(card))
        expect(again).toEqual(card)
      }),
    )
  })
})
