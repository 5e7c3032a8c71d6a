import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../protocol/card.ts'
import * as strict from './card.ts'
import { decodeCard, encodeCard } from './card.ts'
import { v0_3ProtoClient } from './client.ts'

describe('decodeCard', () => {
  const { getExtendedCard } = v0_3ProtoClient.decodeResult
  const decodeCard = (wire: unknown) => getExtendedCard(wire, {})

  const wire = {
    name: 'Echo',
    description: 'Repeats',
    url: 'https://h/rest',
    preferredTransport: 'HTTP+JSON',
    additionalInterfaces: [
      { url: 'https://h/rest', transport: 'HTTP+JSON' },
      { url: 'h:443', transport: 'GRPC' },
    ],
    protocolVersion: '0.3.0',
    version: '1.2.3',
    capabilities: { streaming: true },
    supportsAuthenticatedExtendedCard: true,
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'Does it', tags: ['t'], security: [{ schemes: { key: {} } }] }],
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
    security: [{ schemes: { key: {} } }],
  }

  const card = decodeCard(wire)

  it('a card is decoded', () => {
    expect(strict.decodeCard(wire)).toEqual(card)
    const { carry: _, ...read } = card
    expect(read).toEqual({
      name: 'Echo',
      description: 'Repeats',
      version: '1.2.3',
      interfaces: [
        { url: 'https://h/rest', binding: 'HTTP+JSON', protocolVersion: '0.3' },
        { url: 'h:443', binding: 'GRPC', protocolVersion: '0.3' },
      ],
      capabilities: { streaming: true, extendedCard: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 's', name: 'S', description: 'Does it', tags: ['t'], security: [{ key: [] }] }],
      securitySchemes: { key: { type: 'api-key', location: 'header', name: 'X-Key' } },
      security: [{ key: [] }],
    })
  })

  it('a card in the JSON of JSON-RPC, as Python agents send it, is decoded', () => {
    const securitySchemes = { key: { type: 'apiKey', in: 'header', name: 'X-Key' } }
    const skills = wire.skills.map((skill) => ({ ...skill, security: [{ key: [] }] }))
    expect(decodeCard({ ...wire, securitySchemes, security: [{ key: [] }], skills })).toEqual(card)
  })
})

describe('encodeCard', () => {
  const card: AgentCard = {
    name: 'Echo',
    description: 'Repeats',
    version: '1.2.3',
    interfaces: [{ url: 'https://h/rest', binding: 'HTTP+JSON', protocolVersion: '0.3' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }

  it('the received addresses are written again only if the interfaces have not changed', () => {
    const read = decodeCard({ ...encodeCard(card), protocolVersion: '0.3.7' })
    expect(encodeCard(read).protocolVersion).toBe('0.3.7')
    const interfaces = [{ url: 'https://gateway', binding: 'JSONRPC', protocolVersion: '0.3' }]
    expect(encodeCard({ ...read, interfaces })).toMatchObject({
      url: 'https://gateway',
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [{ url: 'https://gateway', transport: 'JSONRPC' }],
      protocolVersion: '0.3.0',
    })
  })

  it('a card has only the interfaces of 0.2 and 0.3, each once', () => {
    const at = (protocolVersion: string) => ({ url: 'https://h', binding: 'JSONRPC', protocolVersion })
    expect(encodeCard({ ...card, interfaces: [at('1.0'), at('0.3'), at('0.2'), at('0.1')] })).toMatchObject({
      url: 'https://h',
      additionalInterfaces: [{ url: 'https://h', transport: 'JSONRPC' }],
    })
    expect(() => encodeCard({ ...card, interfaces: [at('1.0')] })).toThrow('no interface of A2A 0.3')
  })

  it('a card has neither device code flows, nor requirements with them, nor PKCE', () => {
    const urls = { authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes: {} }
    const device = {
      type: 'device-code',
      deviceAuthorizationUrl: 'https://d',
      tokenUrl: 'https://t',
      scopes: {},
    } as const
    const newer: AgentCard = {
      ...card,
      securitySchemes: {
        device: { type: 'oauth2', flow: device },
        code: { type: 'oauth2', flow: { type: 'authorization-code', ...urls, pkceRequired: true } },
      },
      security: [{ device: [] }, { code: [], device: [] }, { code: ['s'] }],
    }
    expect(encodeCard(newer)).toMatchObject({
      securitySchemes: { code: { oauth2SecurityScheme: { flows: { authorizationCode: urls } } } },
      security: [{ schemes: { code: { list: ['s'] } } }],
    })
    expect(JSON.stringify(encodeCard(newer))).not.toMatch(/device|pkce/)
  })
})
