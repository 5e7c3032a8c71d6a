import { describe, expect, it } from 'vitest'
import type { SecurityRequirement, SecurityScheme } from '../../protocol/card.ts'
import * as strict from './card.ts'
import { v1_0Client } from './client.ts'

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
  it('is read, also by the book', () => {
    const { supportedInterfaces, capabilities, ...same } = card
    expect(strict.decodeCard(card)).toEqual(decodeCard(card))
    expect(decodeCard(card)).toEqual({
      ...same,
      interfaces: [{ url: 'https://h/a', binding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { extendedCard: true },
    })
  })

  it('may leave out what ProtoJSON leaves out when it is empty', () => {
    const { name, supportedInterfaces } = card
    expect(decodeCard({ name, supportedInterfaces, skills: [{ id: 's' }] })).toMatchObject({
      description: '',
      capabilities: {},
      defaultInputModes: [],
      skills: [{ id: 's', name: '', description: '', tags: [] }],
    })
  })

  it('must say where the agent is', () => {
    expect(() => decodeCard({ ...card, supportedInterfaces: [] })).toThrow(
      'supportedInterfaces: expected a list of 1 or more items, got 0',
    )
    expect(() => decodeCard('card')).toThrow('result: expected an object, got a string')
  })
})

describe('a security requirement', () => {
  const read = [{ a: ['s'], b: [] }]

  it('is read from the form of the proto', () => {
    expect(securityOf({ securityRequirements: [{ schemes: { a: { list: ['s'] }, b: {} } }] })).toEqual(read)
  })

  it('is read from the forms of samples and of older cards', () => {
    expect(securityOf({ security: [{ schemes: { a: { list: ['s'] }, b: {} } }] })).toEqual(read)
    expect(securityOf({ security: [{ a: ['s'], b: [] }] })).toEqual(read)
    expect(securityOf({ securityRequirements: [{ schemes: { a: ['s'], b: [] } }] })).toEqual(read)
    const [skill] = card.skills
    expect(
      decodeCard({ ...card, skills: [{ ...skill, security: [{ a: ['s'], b: [] }] }] }).skills[0]?.security,
    ).toEqual(read)
  })

  it('in other words is never overlooked by who reads by the book', () => {
    const [skill] = card.skills
    const odd = [
      { security: [{ a: ['s'] }] },
      { securityRequirements: [{ a: ['s'] }] },
      { skills: [{ ...skill, security: [{ a: ['s'] }] }] },
    ]
    for (const members of odd) expect(() => strict.decodeCard({ ...card, ...members })).toThrow('expected')
  })

  it('of a card that is old and new at once is the new one', () => {
    expect(securityOf({ securityRequirements: [{ schemes: { a: {} } }], security: [{ b: [] }] })).toEqual([{ a: [] }])
  })
})

describe('a security scheme', () => {
  it('is read, whichever it is', () => {
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

  it('is read from the form of older cards, also where a card has both', () => {
    const key = { type: 'api-key', location: 'header', name: 'X-Key' }
    expect(schemesOf({ key: { type: 'apiKey', in: 'header', name: 'X-Key' } })).toEqual({ key })
    expect(schemesOf({ jwt: { type: 'http', scheme: 'x', httpAuthSecurityScheme: { scheme: 'bearer' } } })).toEqual({
      jwt: { type: 'http', scheme: 'bearer' },
    })
  })

  it('of a kind that we do not know is left out, and the rest of the card is read', () => {
    expect(schemesOf({ new: { holographicSecurityScheme: {} }, odd: { type: 'toString' }, none: null })).toEqual({})
  })

  const flows = { password: { tokenUrl: 'https://t' }, implicit: {}, clientCredentials: { tokenUrl: 'https://t' } }

  it('with several flows becomes one for each, and meets what asks for it by any of them', () => {
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

  it('with several flows cannot make a card grow without end', () => {
    const names = Array.from({ length: 30 }, (_, index) => `o${index}`)
    const securitySchemes = Object.fromEntries(names.map((name) => [name, { oauth2SecurityScheme: { flows } }]))
    const schemes = Object.fromEntries(names.map((name) => [name, {}]))
    const { security } = decodeCard({ ...card, securitySchemes, securityRequirements: [{ schemes }] })
    expect(security?.length).toBeLessThanOrEqual(64)
  })

  it('leaves a scheme alone that has the name of one of its flows', () => {
    const named = { type: 'http', scheme: 'basic' }
    const { 'o.implicit': found } = schemesOf({ o: { type: 'oauth2', flows }, 'o.implicit': named }) ?? {}
    expect(found).toEqual(named)
  })
})
