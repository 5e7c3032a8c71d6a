import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../protocol/card.ts'
import { decodeCard } from './decode-card.ts'
import { encodeCard } from './encode-card.ts'

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

describe('a card', () => {
  it('is read', () => {
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

  it('is read from the form of JSON-RPC, which agents in Python answer', () => {
    const securitySchemes = { key: { type: 'apiKey', in: 'header', name: 'X-Key' } }
    const skills = wire.skills.map((skill) => ({ ...skill, security: [{ key: [] }] }))
    expect(decodeCard({ ...wire, securitySchemes, security: [{ key: [] }], skills })).toEqual(card)
  })

  it('tells where it was read from only as long as that is so', () => {
    const interfaces = [{ url: 'https://gateway', binding: 'JSONRPC', protocolVersion: '0.3' }]
    expect(encodeCard({ ...card, interfaces })).toMatchObject({
      url: 'https://gateway',
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [{ url: 'https://gateway', transport: 'JSONRPC' }],
      protocolVersion: '0.3.0',
    })
  })

  it('tells only the interfaces of its time, each once', () => {
    const at = (protocolVersion: string) => ({ url: 'https://h', binding: 'JSONRPC', protocolVersion })
    const { carry: _, ...own } = card
    expect(encodeCard({ ...own, interfaces: [at('1.0'), at('0.3'), at('0.2'), at('0.1')] })).toMatchObject({
      url: 'https://h',
      additionalInterfaces: [{ url: 'https://h', transport: 'JSONRPC' }],
    })
    expect(() => encodeCard({ ...own, interfaces: [at('1.0')] })).toThrow('no interface of A2A 0.3')
  })

  it('leaves out what came later: device codes with all that asks for them, and proof keys', () => {
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
      skills: [],
    }
    expect(encodeCard(newer)).toMatchObject({
      securitySchemes: { code: { oauth2SecurityScheme: { flows: { authorizationCode: urls } } } },
      security: [{ schemes: { code: { list: ['s'] } } }],
    })
    expect(JSON.stringify(encodeCard(newer))).not.toMatch(/device|pkce/)
  })
})
