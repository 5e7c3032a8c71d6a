import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../protocol/card.ts'
import { decodeCard, encodeCard } from './card.ts'

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

describe('a card', () => {
  it('tells where it was read from only as long as that is so', () => {
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

  it('tells only the interfaces of its time, each once', () => {
    const at = (protocolVersion: string) => ({ url: 'https://h', binding: 'JSONRPC', protocolVersion })
    expect(encodeCard({ ...card, interfaces: [at('1.0'), at('0.3'), at('0.2'), at('0.1')] })).toMatchObject({
      url: 'https://h',
      additionalInterfaces: [{ url: 'https://h', transport: 'JSONRPC' }],
    })
    expect(() => encodeCard({ ...card, interfaces: [at('1.0')] })).toThrow('no interface of A2A 0.3')
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
    }
    expect(encodeCard(newer)).toMatchObject({
      securitySchemes: { code: { oauth2SecurityScheme: { flows: { authorizationCode: urls } } } },
      security: [{ schemes: { code: { list: ['s'] } } }],
    })
    expect(JSON.stringify(encodeCard(newer))).not.toMatch(/device|pkce/)
  })
})
