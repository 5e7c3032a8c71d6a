import { describe, expect, it } from 'vitest'
import type { AgentCard, SecurityRequirement, SecurityScheme } from '../../protocol/card.ts'
import * as strict from './card.ts'
import { encodeCard } from './card.ts'
import { v1_0Client } from './client.ts'

describe('decodeCard', () => {
  const { getExtendedCard } = v1_0Client.decodeResult
  const decodeCard = (wire: unknown) => getExtendedCard(wire, {})

  const card = {
    name: 'Echo',
    description: 'Repeats',
    version: '1.2.3',
    supportedInterfaces: [{ url: 'https://h/a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { extendedAgentCard: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'Does it', tags: ['t'] }],
  }

  function securityOf(members: object): readonly SecurityRequirement[] | undefined {
    return decodeCard({ ...card, ...members }).security
  }

  function schemesOf(securitySchemes: object): Readonly<Record<string, SecurityScheme>> | undefined {
    return decodeCard({ ...card, securitySchemes }).securitySchemes
  }

  describe('a card', () => {
    it('a card is decoded equally by the strict and the lenient decoder', () => {
      const { supportedInterfaces, capabilities, ...same } = card
      expect(strict.decodeCard(card)).toEqual(decodeCard(card))
      expect(decodeCard(card)).toEqual({
        ...same,
        interfaces: [{ url: 'https://h/a', binding: 'JSONRPC', protocolVersion: '1.0' }],
        capabilities: { extendedCard: true },
      })
    })

    it('a card may omit what ProtoJSON omits when it is empty', () => {
      const { name, supportedInterfaces } = card
      expect(decodeCard({ name, supportedInterfaces, skills: [{ id: 's' }] })).toMatchObject({
        description: '',
        capabilities: {},
        defaultInputModes: [],
        skills: [{ id: 's', name: '', description: '', tags: [] }],
      })
    })

    it('a card must have an interface', () => {
      expect(() => decodeCard({ ...card, supportedInterfaces: [] })).toThrow(
        'supportedInterfaces: expected a list of 1 or more items, got 0',
      )
      expect(() => decodeCard('card')).toThrow('result: expected an object, got a string')
    })
  })

  describe('a security requirement', () => {
    const read = [{ a: ['s'], b: [] }]

    it('a requirement in the form of the proto is decoded', () => {
      expect(securityOf({ securityRequirements: [{ schemes: { a: { list: ['s'] }, b: {} } }] })).toEqual(read)
    })

    it('a requirement in the forms of samples and older cards is decoded', () => {
      expect(securityOf({ security: [{ schemes: { a: { list: ['s'] }, b: {} } }] })).toEqual(read)
      expect(securityOf({ security: [{ a: ['s'], b: [] }] })).toEqual(read)
      expect(securityOf({ securityRequirements: [{ schemes: { a: ['s'], b: [] } }] })).toEqual(read)
      const [skill] = card.skills
      expect(
        decodeCard({ ...card, skills: [{ ...skill, security: [{ a: ['s'], b: [] }] }] }).skills[0]?.security,
      ).toEqual(read)
    })

    it('the strict decoder never ignores a requirement in another form', () => {
      const [skill] = card.skills
      const foreignForms = [
        { security: [{ a: ['s'] }] },
        { securityRequirements: [{ a: ['s'] }] },
        { skills: [{ ...skill, security: [{ a: ['s'] }] }] },
      ]
      for (const members of foreignForms) expect(() => strict.decodeCard({ ...card, ...members })).toThrow('expected')
    })

    it('the requirements of 1.0 take precedence over those of older versions', () => {
      expect(securityOf({ securityRequirements: [{ schemes: { a: {} } }], security: [{ b: [] }] })).toEqual([{ a: [] }])
    })
  })

  describe('a security scheme', () => {
    it('a scheme of every type is decoded', () => {
      const scopes = { read: 'Reads' }
      const urls = { authorizationUrl: 'https://a', tokenUrl: 'https://t' }
      const authorizationCode = { ...urls, scopes, pkceRequired: true }
      expect(
        schemesOf({
          key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key', description: 'The key' } },
          jwt: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } },
          oauth: { oauth2SecurityScheme: { flows: { authorizationCode }, oauth2MetadataUrl: 'https://m' } },
          oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://o' } },
          mtls: { mtlsSecurityScheme: {} },
        }),
      ).toEqual({
        key: { type: 'api-key', location: 'header', name: 'X-Key', description: 'The key' },
        jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        oauth: {
          type: 'oauth2',
          flow: { type: 'authorization-code', ...urls, scopes, pkceRequired: true },
          metadataUrl: 'https://m',
        },
        oidc: { type: 'openid', url: 'https://o' },
        mtls: { type: 'mutual-tls' },
      })
    })

    it('a scheme in the form of older cards is decoded, even beside the form of 1.0', () => {
      const key = { type: 'api-key', location: 'header', name: 'X-Key' }
      expect(schemesOf({ key: { type: 'apiKey', in: 'header', name: 'X-Key' } })).toEqual({ key })
      expect(schemesOf({ jwt: { type: 'http', scheme: 'x', httpAuthSecurityScheme: { scheme: 'bearer' } } })).toEqual({
        jwt: { type: 'http', scheme: 'bearer' },
      })
    })

    it('a scheme of an unknown type is left out, and the rest of the card is decoded', () => {
      expect(schemesOf({ new: { holographicSecurityScheme: {} }, odd: { type: 'toString' }, none: null })).toEqual({})
    })

    const flows = { password: { tokenUrl: 'https://t' }, implicit: {}, clientCredentials: { tokenUrl: 'https://t' } }

    it('a scheme with several flows becomes one for each, and a requirement accepts any of them', () => {
      const { securitySchemes, security } = decodeCard({
        ...card,
        securitySchemes: { o: { oauth2SecurityScheme: { flows, description: 'Log in' } } },
        securityRequirements: [{ schemes: { o: { list: ['s'] }, k: {} } }, { schemes: { k: {} } }],
      })
      expect(securitySchemes).toMatchObject({
        o: { type: 'oauth2', description: 'Log in', flow: { type: 'client-credentials' } },
        'o.implicit': { description: 'Log in', flow: { type: 'implicit' } },
        'o.password': { flow: { type: 'password' } },
      })
      expect(security).toEqual([
        { o: ['s'], k: [] },
        { 'o.implicit': ['s'], k: [] },
        { 'o.password': ['s'], k: [] },
        { k: [] },
      ])
    })

    it('schemes with several flows cannot multiply requirements without bound', () => {
      const names = Array.from({ length: 30 }, (_, index) => `o${index}`)
      const securitySchemes = Object.fromEntries(names.map((name) => [name, { oauth2SecurityScheme: { flows } }]))
      const schemes = Object.fromEntries(names.map((name) => [name, {}]))
      const { security } = decodeCard({ ...card, securitySchemes, securityRequirements: [{ schemes }] })
      expect(security?.length).toBeLessThanOrEqual(64)
    })

    it("a scheme with the name of another scheme's flow is kept", () => {
      const named = { type: 'http', scheme: 'basic' }
      const { 'o.implicit': kept } = schemesOf({ o: { type: 'oauth2', flows }, 'o.implicit': named }) ?? {}
      expect(kept).toEqual(named)
    })
  })
})

describe('encodeCard', () => {
  const smallest: AgentCard = {
    name: 'Echo',
    description: '',
    version: '1.2.3',
    interfaces: [{ url: 'https://echo.example.com/a2a', binding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }

  it('a card always has its required members, even if they are empty', () => {
    expect(encodeCard(smallest)).toStrictEqual({
      name: 'Echo',
      description: '',
      supportedInterfaces: [
        { url: 'https://echo.example.com/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
      version: '1.2.3',
      capabilities: {},
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
    })
  })

  it('a card has all optional members, and capabilities that are false', () => {
    const skill = { id: 's', name: 'S', description: 'Does it', tags: ['t'] }
    const card: AgentCard = {
      ...smallest,
      interfaces: [{ url: 'https://h/a', binding: 'JSONRPC', protocolVersion: '1.0', tenant: 'acme' }],
      capabilities: {
        streaming: true,
        pushNotifications: false,
        extendedCard: false,
        extensions: [
          { uri: 'https://e/1', required: false },
          { uri: 'https://e/2', description: 'Two', required: true, params: { a: 1 } },
        ],
      },
      skills: [
        { ...skill, examples: [], inputModes: [] },
        { ...skill, examples: ['Do it'], inputModes: ['text/plain'], outputModes: ['image/png'] },
      ],
      provider: { organization: 'Acme', url: 'https://acme.example.com' },
      documentationUrl: 'https://docs',
      iconUrl: '',
    }
    expect(encodeCard(card)).toMatchObject({
      supportedInterfaces: [{ url: 'https://h/a', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'acme' }],
      capabilities: {
        streaming: true,
        pushNotifications: false,
        extendedAgentCard: false,
        extensions: [
          { uri: 'https://e/1' },
          { uri: 'https://e/2', description: 'Two', required: true, params: { a: 1 } },
        ],
      },
      skills: [skill, { ...skill, examples: ['Do it'], inputModes: ['text/plain'], outputModes: ['image/png'] }],
      provider: { organization: 'Acme', url: 'https://acme.example.com' },
      documentationUrl: 'https://docs',
      iconUrl: '',
    })
  })

  it('a card has its security in the form of the proto', () => {
    const flow = {
      type: 'device-code',
      deviceAuthorizationUrl: 'https://d',
      tokenUrl: 'https://t',
      scopes: {},
    } as const
    const security = [{ device: ['read'], mtls: [] }]
    const card: AgentCard = {
      ...smallest,
      securitySchemes: { device: { type: 'oauth2', flow, description: 'By hand' }, mtls: { type: 'mutual-tls' } },
      security,
      skills: [{ id: 's', name: 'S', description: 'Does it', tags: [], security }],
      signatures: [{ protected: 'e30', signature: 'c2ln', header: { kid: '1' } }],
    }
    const { type, ...deviceCode } = flow
    const securityRequirements = [{ schemes: { device: { list: ['read'] }, mtls: {} } }]
    expect(encodeCard(card)).toMatchObject({
      securitySchemes: {
        device: { oauth2SecurityScheme: { description: 'By hand', flows: { deviceCode } } },
        mtls: { mtlsSecurityScheme: {} },
      },
      securityRequirements,
      skills: [{ id: 's', securityRequirements }],
      signatures: [{ protected: 'e30', signature: 'c2ln', header: { kid: '1' } }],
    })
  })
})
